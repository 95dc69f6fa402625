//! Lists of steps in a sentence: all of them, as short as that goes.

use super::list;

/// A stretch of this many neighbouring steps of a sweep is written as `first to last`.
const STRETCH_MIN: usize = 3;

/// Returns the names of the steps `which` of a plan, sweeps shortened: `read size=4KiB to 64KiB (5 steps) and write`.
///
/// `all` holds the names of all steps in their order; a step of a sweep is called `test key=value …`. `which` is
/// sorted.
pub(crate) fn shortened(all: &[String], which: &[usize]) -> String {
    let mut tests: Vec<(&str, Vec<usize>)> = Vec::new();
    for index in which {
        let (test, _) = parts(&all[*index]);
        match tests.last_mut() {
            Some((known, indices)) if *known == test => indices.push(*index),
            _ => tests.push((test, vec![*index])),
        }
    }
    list(&tests.iter().map(|(test, indices)| of_test(test, all, indices)).collect::<Vec<_>>())
}

/// Test and swept values of a name; the values are empty where nothing is swept.
fn parts(name: &str) -> (&str, &str) {
    let Some(equals) = name.find('=') else { return (name, "") };
    match name[..equals].rfind(' ') {
        Some(space) => (&name[..space], &name[space + 1..]),
        None => (name, ""),
    }
}

fn of_test(test: &str, all: &[String], indices: &[usize]) -> String {
    let steps = all.iter().filter(|name| parts(name).0 == test).count();
    if indices.len() == steps && steps >= STRETCH_MIN {
        return format!("all {steps} steps of {test}");
    }
    let mut stretches: Vec<Vec<usize>> = Vec::new();
    for index in indices {
        match stretches.last_mut() {
            Some(stretch) if stretch.last() == Some(&(index - 1)) => stretch.push(*index),
            _ => stretches.push(vec![*index]),
        }
    }
    let mut words: Vec<String> = Vec::new();
    for stretch in stretches {
        let value = |index: usize| parts(&all[index]).1.to_owned();
        match stretch[..] {
            [first, .., last] if stretch.len() >= STRETCH_MIN => {
                words.push(format!("{} to {} ({} steps)", value(first), plain(&value(last)), stretch.len()));
            }
            _ => words.extend(stretch.iter().map(|index| value(*index))),
        }
    }
    // The key is said once: `size=4KiB, 16KiB and 64KiB`.
    let words: Vec<String> =
        words.iter().enumerate().map(|(i, word)| if i == 0 { word.clone() } else { plain(word) }).collect();
    format!("{test} {}", list(&words)).trim_end().to_owned()
}

/// `size=4KiB` as `4KiB`; several swept values stay as they are.
fn plain(value: &str) -> String {
    match value.split_once('=') {
        Some((_, rest)) if !rest.contains('=') => rest.to_owned(),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_steps_are_named_and_neighbours_share_their_words() {
        let sizes = ["4KiB", "8KiB", "16KiB", "32KiB", "64KiB", "1MiB"];
        let mut all: Vec<String> = sizes.iter().map(|size| format!("Random read size={size}")).collect();
        all.extend(["Max rate".to_owned(), "depth outstanding=1 size=8KiB".to_owned()]);
        for (which, words) in [
            (vec![6], "Max rate"),
            (vec![0, 6], "Random read size=4KiB and Max rate"),
            (vec![0, 2, 5], "Random read size=4KiB, 16KiB and 1MiB"),
            (vec![0, 1, 2, 5, 6], "Random read size=4KiB to 16KiB (3 steps) and 1MiB and Max rate"),
            (vec![0, 1, 2, 3, 4, 5, 7], "all 6 steps of Random read and depth outstanding=1 size=8KiB"),
        ] {
            assert_eq!(shortened(&all, &which), words);
        }
    }
}
