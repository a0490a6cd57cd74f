#!/bin/sh
# Speaks the protocol of nvidia-cuda-mps-control, with its oddities, as seen of driver 580.159.04: if a share is out of
# range the old one is kept and told; an unknown command is named, with status 0; limits are told in GiB from one on,
# rounded down; a size is read up to its first letter, M if that is no G; 0 and what is no number lift a limit.
# A daemon is a process; what it was set to is lost with it.
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
[ -f "$here/hangs" ] && { echo asked >> "$here/hangs"; sleep 600; }
value() { cat "$here/values/$1" 2>/dev/null || echo "$2"; }
keep_percent() { # file, value; prints what holds
    # One decimal, as printed; anything but 1 to 100 is ignored.
    case $2 in
        ''|*[!0-9.]*) ;;
        *)
            if ! [ -f "$here/stubborn" ] &&
                awk -v v="$2" 'BEGIN { if (v > 0 && v <= 100) printf "%.1f\n", v; else exit 1 }' > "$here/draft"; then
                mv "$here/draft" "$here/values/$1"
            fi;;
    esac
    value "$1" 100.0
}
keep_limit() { # file, value
    [ -f "$here/stubborn" ] && return
    number=${2%%[!0-9]*}
    case $2 in "$number"G*) mib=$(( ${number:-0} * 1024 ));; *) mib=${number:-0};; esac
    echo "$mib" > "$here/values/$1"
}
limit() { # file
    mib=$(value "$1" 0)
    [ "$mib" -eq 0 ] && return
    if [ "$mib" -ge 1024 ]; then echo "$(( mib / 1024 ))G"; else echo "${mib}M"; fi
}
server() { grep -qx "$1" "$here/servers" 2>/dev/null; }
while read -r command a b c; do
    case $command in
        get_server_list) cat "$here/servers" 2>/dev/null;;
        get_default_active_thread_percentage) value percent 100.0;;
        set_default_active_thread_percentage) keep_percent percent "$a";;
        get_active_thread_percentage) server "$a" && value "percent-$a" 100.0 || echo "Server $a not found";;
        set_active_thread_percentage) server "$a" && keep_percent "percent-$a" "$b" || echo "Server $a not found";;
        get_default_device_pinned_mem_limit) limit "limit-$a";;
        set_default_device_pinned_mem_limit) keep_limit "limit-$a" "$b";;
        get_device_pinned_mem_limit) if server "$a"; then limit "limit-$a-$b"; else echo "Server $a not found"; fi;;
        set_device_pinned_mem_limit) if server "$a"; then keep_limit "limit-$a-$b" "$c"; else echo "Server $a not found"; fi;;
        quit) kill "$(cat "$here/pid")"; rm -f "$here/pid" "$here/servers";;
        *) echo "Unknown command \"$command\"";;
    esac
done
exit 0
