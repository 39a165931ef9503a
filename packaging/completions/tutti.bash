# bash completion of tutti. Written by tools/command-pages.
_tutti() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "run topo explain sim study bench probe profile report info doctor tune --version --help" -- "$cur")
    return
  fi
  local options= files= taking= operands= at
  case $command in
    run) options="-v --verbose --library --dry-run --json -s --set --summary --explain --profile --help" taking="--library -s --set --profile" files="--library" ;;
    topo) options="-t --topology --hierarchy -n --ranks --root --mapping --messages --svg --png --json --help" taking="-t --topology --hierarchy -n --ranks --root --mapping --messages --svg --png --json" files="--svg --png --json" ;;
    explain) options="--ranks-per-core -t --topology --hierarchy --mapping --mechanism --nodes --algorithm --ordered --probe --table --host -m --machine --simulate --json --help" taking="--ranks-per-core -t --topology --hierarchy --mapping --mechanism --nodes --algorithm --probe --table --host -m --machine" files="--probe --table" ;;
    sim) options="-m --machine --machines -t --topology --probe -n --ranks --nodes --mapping --hierarchy --root --mechanism --algorithms --meets --flat --trace --plot --json --help" taking="-m --machine -t --topology --probe -n --ranks --nodes --mapping --hierarchy --root --mechanism --algorithms --trace --plot" files="--trace --plot" ;;
    study) options="-o --output --probe --json --help" taking="-o --output --probe" files="-o --output --probe" ;;
    bench) options="--host --mpirun -n --ranks -c --collective --collectives --min --max --root --in-place --buffers --form --overlap --algorithm --algorithms --mechanisms -s --set --floor --seconds --repeats --host-wait --host-best --json --plot --table -q --quiet --progress --help" taking="--host --mpirun -n --ranks -c --collective --collectives --min --max --root --buffers --form --algorithm --algorithms --mechanisms -s --set --seconds --repeats --host-wait --json --plot --table" files="--json --plot --table" ;;
    probe) options="--network -o --output --seconds --json --plot --from --validate -n --ranks -c --collective --collectives --min --max --mechanisms --host --mpirun --help" taking="-o --output --seconds --plot --from -n --ranks -c --collective --collectives --min --max --mechanisms --host --mpirun" files="-o --output --plot --from" ;;
    profile) options="-o --output --trace --json --help" taking="-o --output --trace" files="-o --output --trace" operands=files ;;
    report) options="-o --output --against --help" taking="-o --output --against" files="-o --output --against" operands=files ;;
    info) options="--json --help" taking="" files="" ;;
    doctor) options="--json --host -n --ranks --help" taking="--host -n --ranks" files="" ;;
    tune) options="--network --minutes -c --collective --collectives -n --ranks --sizes --mechanisms --hierarchies --buffers --host --mpirun --within -s --set -o --output --resume --check -t --topology --diff --json --help" taking="--minutes -c --collective --collectives -n --ranks --sizes --mechanisms --hierarchies --buffers --host --mpirun --within -s --set -o --output --check -t --topology --diff" files="-o --output --check" ;;
    *) return ;;
  esac
  if [[ $command == run ]]; then
    # Behind the options of tutti run stands any command.
    for ((at = 2; at < COMP_CWORD; at++)); do
      if [[ " $taking " == *" ${COMP_WORDS[at]} "* ]]; then
        ((at++))
      elif [[ ${COMP_WORDS[at]} != -* ]]; then
        if declare -F _command_offset >/dev/null; then
          _command_offset "$at"
        else
          mapfile -t COMPREPLY < <(compgen -c -- "$cur")
        fi
        return
      fi
    done
  fi
  if [[ $prev == --host ]]; then
    mapfile -t COMPREPLY < <(compgen -W "mpich openmpi intel abi openmpi-debian" -- "$cur")
  elif [[ " $files " == *" $prev "* ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  elif [[ " $taking " == *" $prev "* ]]; then
    return
  elif [[ $cur != -* && $operands == files ]]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$cur")
  elif [[ $cur == -* || $command != run ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -c -- "$cur")
  fi
}
complete -o filenames -F _tutti tutti
