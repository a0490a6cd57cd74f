#!/bin/sh
# Speaks the protocol of nvidia-cuda-mps-control, with its oddities: the old value is kept, and no error is told,
# if a value is out of range or a command is unknown. A daemon is a process; what it was set to is lost with it.
# It is no program of NVIDIA's, and holds no part of one.
here=${CUDA_MPS_PIPE_DIRECTORY:-/tmp/nvidia-mps}
alive() { [ -f "$here/pid" ] && kill -0 "$(cat "$here/pid")" 2>/dev/null; }
if [ "$1" = -d ]; then
    alive && { echo "An instance of this daemon is already running" >&2; exit 1; }
    mkdir -p "$here"
    rm -rf "$here/values"
    mkdir "$here/values"
    # The daemon keeps its standard error, as daemons do that are badly written.
    sleep 100000 >/dev/null </dev/null &
    echo $! > "$here/pid"
    exit 0
fi
alive || { echo "Cannot find MPS control daemon process" >&2; exit 1; }
value() { cat "$here/values/$1" 2>/dev/null || echo "$2"; }
keep_percent() { # file, value
    # One decimal, as printed; anything but 1 to 100 is ignored.
    case $2 in ''|*[!0-9.]*) return;; esac
    awk -v v="$2" 'BEGIN { if (v > 0 && v <= 100) printf "%.1f\n", v; else exit 1 }' > "$here/draft" &&
        mv "$here/draft" "$here/values/$1"
}
keep_limit() { # file, value
    case $2 in *[!0-9]*[MG]|[MG]|'') return;; *M) mib=${2%M};; *G) mib=$(( ${2%G} * 1024 ));; *) return;; esac
    [ -f "$here/stubborn" ] && return
    if [ $(( mib % 1024 )) -eq 0 ]; then echo "$(( mib / 1024 ))G"; else echo "${mib}M"; fi > "$here/values/$1"
}
server() { grep -qx "$1" "$here/servers" 2>/dev/null; }
while read -r command a b c; do
    case $command in
        get_server_list) cat "$here/servers" 2>/dev/null;;
        get_default_active_thread_percentage) value percent 100.0;;
        set_default_active_thread_percentage) [ -f "$here/stubborn" ] || keep_percent percent "$a";;
        get_active_thread_percentage) server "$a" && value "percent-$a" 100.0 || echo "Server not found";;
        set_active_thread_percentage) server "$a" && keep_percent "percent-$a" "$b";;
        get_default_device_pinned_mem_limit) value "limit-$a" "";;
        set_default_device_pinned_mem_limit) keep_limit "limit-$a" "$b";;
        get_device_pinned_mem_limit) server "$a" && value "limit-$a-$b" "";;
        set_device_pinned_mem_limit) server "$a" && keep_limit "limit-$a-$b" "$c";;
        quit) kill "$(cat "$here/pid")"; rm -f "$here/pid" "$here/servers";;
        *) ;;
    esac
done
exit 0
