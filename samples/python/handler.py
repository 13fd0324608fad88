#!/usr/bin/env python3
"""A handler that the activator feeds (feed protocol 1): answers each order with a receipt.

Needs Python 3 and nothing else: no SQL driver, no connection. Configured with kind = "feed".
"""

import json
import sys


def receipt(order: str) -> str:
    """The work itself. An exception ends the handler, and the message comes again in another one."""
    return order.upper()


def main() -> None:
    reply_type = sys.argv[1]
    hello = json.loads(sys.stdin.readline())
    if hello["hello"] != 1:
        sys.exit(f"feed protocol {hello['hello']} is not known here")
    # One line, one message. The end of the input is the word to finish.
    for line in sys.stdin:
        message = json.loads(line)
        answer = {"id": message["id"]}
        body = message["body"] or {}
        if "text" in body:
            answer["reply"] = {"type": reply_type, "body": {"text": receipt(body["text"])}}
            answer["done"] = True
            # A line for the activator's log.
            print(json.dumps({"log": f"a receipt for {body['text']}"}))
        else:
            answer["dead"] = "an order has to be text"
        # Without flush the line waits in a buffer, and the activator for the line.
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
