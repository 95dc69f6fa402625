_clap_complete_assay() {
    local IFS=$'\013'
    local kind=${COMP_TYPE} space=true
    if compopt +o nospace 2>/dev/null; then
        space=false
    fi
    # Bash breaks words at colons and equal signs: sim:ARRAY, iscsi://HOST/…, --array=NAME. They are joined again, and
    # what stands before the present piece is taken off the answers.
    local words=() line=$COMP_LINE before='' index=0 last=-1 i piece
    for i in "${!COMP_WORDS[@]}"; do
        piece=${COMP_WORDS[i]}
        if ((last >= 0)) && [[ $line != [[:space:]]* && ($piece == [:=]* || ${words[last]} == *[:=]) ]]; then
            before=${words[last]}
            words[last]+=$piece
        else
            before=''
            last=$((last + 1))
            words[last]=$piece
        fi
        line=${line#"${line%%[![:space:]]*}"}
        line=${line#"$piece"}
        if ((i == COMP_CWORD)); then
            index=$last
            if [[ $piece == [:=] ]]; then
                before+=$piece
            else
                words[last]=$before$2
            fi
            break
        fi
    done
    COMPREPLY=($(
        _CLAP_IFS="$IFS" \
            _CLAP_COMPLETE_INDEX="$index" \
            _CLAP_COMPLETE_COMP_TYPE="$kind" \
            _CLAP_COMPLETE_SPACE="$space" \
            COMPLETE="bash" \
            assay -- "${words[@]}"
    ))
    if [[ $? != 0 ]]; then
        unset COMPREPLY
        return
    fi
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
    if [[ $space == false && ${COMPREPLY-} =~ [=/:]$ ]]; then
        compopt -o nospace
    fi
}
if ((BASH_VERSINFO[0] > 4 || (BASH_VERSINFO[0] == 4 && BASH_VERSINFO[1] >= 4))); then
    complete -o nospace -o bashdefault -o nosort -F _clap_complete_assay assay
else
    complete -o nospace -o bashdefault -F _clap_complete_assay assay
fi
