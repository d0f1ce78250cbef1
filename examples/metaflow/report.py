"""A card, resources, and functions that run at the end."""

from metaflow import FlowSpec, card, current, exit_hook, project, resources, schedule, step
from metaflow.cards import Markdown, ProgressBar


def tell(run):
    print(f"{run.pathspec} ended")


def complain():
    print("something failed")


@exit_hook(on_success=[tell], on_error=[complain])
@schedule(daily=True)
@project(name="demo")
class ReportFlow(FlowSpec):
    """Draws a card while it works."""

    @card(type="blank", id="work")
    @resources(cpu=1, memory=512)
    @step
    def start(self):
        bar = ProgressBar(max=3, label="rows")
        current.card["work"].append(Markdown("# Work"))
        current.card["work"].append(bar)
        self.rows = []
        for n in range(3):
            self.rows.append(n * n)
            bar.update(n + 1)
            current.card["work"].refresh()
        self.next(self.end)

    @step
    def end(self):
        self.branch = current.branch_name
        print(sum(self.rows))


if __name__ == "__main__":
    ReportFlow()
