"""A link that takes its time: relays TCP from one port to another, each way late by so many ms: far.py LISTEN TO MS."""
import asyncio
import sys

LISTEN, TO, LATE_S = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]) / 1e3


async def relay(reader, writer):
    loop = asyncio.get_running_loop()
    queue = asyncio.Queue()

    async def send():
        while (item := await queue.get()) is not None:
            due, data = item
            await asyncio.sleep(max(0.0, due - loop.time()))
            writer.write(data)
            await writer.drain()
        writer.close()

    sender = asyncio.create_task(send())
    while data := await reader.read(1 << 20):
        queue.put_nowait((loop.time() + LATE_S, data))
    queue.put_nowait(None)
    await sender


async def connected(reader, writer):
    far_reader, far_writer = await asyncio.open_connection("127.0.0.1", TO)
    await asyncio.gather(relay(reader, far_writer), relay(far_reader, writer), return_exceptions=True)


async def main():
    server = await asyncio.start_server(connected, "127.0.0.1", LISTEN)
    await server.serve_forever()

asyncio.run(main())
