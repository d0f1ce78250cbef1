// The form of a schedule: a switch to Custom begins with the expression of the choices.

export function setUpSchedule() {
  document.addEventListener("change", (event) => {
    if (event.target.name !== "schedule.repeats" || event.target.value !== "custom") return;
    const text = document.getElementById("schedule-cron");
    const expression = document.getElementById("schedule-preview")?.dataset.expression ?? "";
    if (text.value.trim() === "" && expression && !expression.startsWith("@every")) text.value = expression.replaceAll("; ", "\n");
    text.focus();
  });
}
