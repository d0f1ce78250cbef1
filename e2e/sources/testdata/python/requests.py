"""As much of the package requests as the documents use, on the standard library."""
import json as _json
import urllib.error
import urllib.request


class Response:
    def __init__(self, status, body):
        self.status_code, self.text = status, body

    def json(self):
        return _json.loads(self.text)


def request(method, url, headers=None, json=None):
    data = None if json is None else _json.dumps(json).encode()
    sent = urllib.request.Request(url, data=data, method=method, headers={"Content-Type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(sent) as answer:
            return Response(answer.status, answer.read().decode())
    except urllib.error.HTTPError as problem:
        return Response(problem.code, problem.read().decode())


def post(url, headers=None, json=None):
    return request("POST", url, headers, json)
