"""moto's server, answering one request at a time.

moto's backends are not safe for threads ("dictionary changed size during iteration", lost updates), so every
request takes one lock. An SQS long poll is the exception: it waits inside its request, and the message that
would end the wait has to get in.

It listens on a free loopback port and prints the number as its only line on stdout. It ends when its stdin
ends, so that it never outlives the test process that started it.
"""

import logging
import os
import sys
import threading

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

LONG_POLL = "ReceiveMessage"

application = DomainDispatcherApplication(create_backend_app)
one_at_a_time = threading.Lock()


def serialised(environ, start_response):
    if environ.get("HTTP_X_AMZ_TARGET", "").endswith(LONG_POLL):
        return application(environ, start_response)
    with one_at_a_time:
        return list(application(environ, start_response))


def end_with_parent():
    sys.stdin.buffer.read()
    os._exit(0)


logging.getLogger("werkzeug").setLevel(logging.ERROR)
WSGIRequestHandler.protocol_version = "HTTP/1.1"
server = make_server("127.0.0.1", 0, serialised, threaded=True)
threading.Thread(target=end_with_parent, daemon=True).start()
print(server.server_port, flush=True)
server.serve_forever()
