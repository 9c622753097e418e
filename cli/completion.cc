#include "tally/cli/completion.h"

#include <c10/util/Exception.h>

#include "tally/state/joined.h"

namespace tally::cli {
namespace {

constexpr const char* kOptions =
    "--metrics --config --inputs --jsonl --coco --folders --csv --columns "
    "--delimiter "
    "--decimal --missing --encoding --labels --class-names --by --slices "
    "--interval "
    "--interval-method --ids "
    "--groups "
    "--batch-size --ranks --split --strict --quiet --output";

// %M, %L: the names of all metrics, of all losses; %O, %R: the options of
// evaluate, of report.
constexpr const char* kBash = R"(_tally() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local words=
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    words="list describe evaluate report compare plan merge show completion --help --version"
  else
    case $before in
      describe) words="%M %L" ;;
      -m | --metrics) words="%M" ;;
      --format)
        words="table json csv"
        [[ ${COMP_WORDS[1]} == describe ]] && words="table json json-schema"
        [[ ${COMP_WORDS[1]} == plan ]] && words="table json"
        ;;
      --missing) words="error skip nan" ;;
      --decimal) words="point comma" ;;
      --encoding) words="utf-8 utf-16 latin-1 windows-1252" ;;
      completion) words="bash zsh" ;;
      plan) words="width mcnemar auroc delong" ;;
      *)
        if [[ ${COMP_WORDS[1]} == evaluate && $word == -* ]]; then
          words="%O"
        elif [[ ${COMP_WORDS[1]} == report && $word == -* ]]; then
          words="%R"
        elif [[ ${COMP_WORDS[1]} == compare && $word == -* ]]; then
          words="--level --format --output"
        elif [[ ${COMP_WORDS[1]} == merge && $word == -* ]]; then
          words="--partial --output"
        elif [[ ${COMP_WORDS[1]} == show && $word == -* ]]; then
          words="--format --labels --output"
        elif [[ ${COMP_WORDS[1]} == plan && $word == -* ]]; then
          case ${COMP_WORDS[2]} in
            width) words="--proportion --width --level" ;;
            mcnemar) words="--first-only --second-only --power --alpha" ;;
            auroc) words="--area --prevalence --width --level" ;;
            delong)
              words="--first --second --correlation --prevalence --power --alpha"
              ;;
          esac
          words+=" --rows --format --output"
        elif [[ ${COMP_WORDS[1]} =~ ^(evaluate|report|compare|merge|show)$ ]]; then
          compopt -o default
        fi
        ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _tally tally
)";

constexpr const char* kZsh = "autoload -U +X bashcompinit && bashcompinit\n";

void replace(const std::string& mark, const std::string& by,
             std::string& text) {
  text.replace(text.find(mark), mark.size(), by);
}

}  // namespace

std::string completion(const Registry& registry, const std::string& shell,
                       const Losses& losses) {
  TORCH_CHECK_VALUE(shell == "bash" || shell == "zsh",
                    "completion: expected bash or zsh, got '", shell, "'");
  const auto first = [](const auto& entry) { return entry.first; };
  const std::string names = internal::joined(" ", registry.entries(), first);
  std::string text = kBash;
  replace("%M", names, text);
  replace("%M", names, text);
  replace("%L", internal::joined(" ", losses, first), text);
  replace("%O",
          std::string(kOptions) + " --set --replicates --save --part --format",
          text);
  replace("%R", std::string(kOptions) + " --log --title", text);
  return shell == "zsh" ? kZsh + text : text;
}

}  // namespace tally::cli
