"""Failures: retries, a time limit, and an error that the flow survives."""

import os
import time

from metaflow import FlowSpec, catch, current, environment, retry, step, timeout


class TroubleFlow(FlowSpec):
    """Fails in three ways and ends well."""

    @step
    def start(self):
        self.next(self.flaky, self.slow, self.broken)

    @retry(times=2, minutes_between_retries=0)
    @environment(vars={"GREETING": "hello"})
    @step
    def flaky(self):
        self.attempts = current.retry_count
        if current.retry_count < 1:
            raise ValueError("the first attempt fails")
        self.greeting = os.environ["GREETING"]
        self.next(self.join)

    @catch(var="too_slow", print_exception=False)
    @timeout(seconds=1)
    @step
    def slow(self):
        time.sleep(30)
        self.next(self.join)

    @catch(var="failure", print_exception=False)
    @step
    def broken(self):
        self.ratio = 1 / 0
        self.next(self.join)

    @step
    def join(self, inputs):
        self.attempts, self.greeting = inputs.flaky.attempts, inputs.flaky.greeting
        self.limits = "timed out" in str(inputs.slow.too_slow).lower()
        self.reason = inputs.broken.failure.type
        self.next(self.end)

    @step
    def end(self):
        print(f"attempt {self.attempts}, limit {self.limits}, {self.reason}")


if __name__ == "__main__":
    TroubleFlow()
