#!/bin/sh
# A handler that the activator feeds (feed protocol 1), in nothing but POSIX shell: sends each body back as it came.
#
# It takes the lines apart by their fixed order: "id" is the first field and "body" the last one.
reply_type=$1

read -r hello
case $hello in
    '{"hello":1,'*) ;;
    *) echo "unknown protocol: $hello" >&2; exit 1 ;;
esac

# One line, one message. The end of the input is the word to finish.
while IFS= read -r message; do
    id=${message#'{"id":'}
    id=${id%%,*}
    body=${message##*',"body":'}
    body=${body%'}'}
    # A line for the activator's log.
    printf '{"log":"a receipt for message %s"}\n' "$id"
    printf '{"id":%s,"reply":{"type":"%s","body":%s},"done":true}\n' "$id" "$reply_type" "$body"
done
