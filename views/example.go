package views

// exampleDefinition is the smallest workflow that shows inputs, code and outputs.
func exampleDefinition() string {
	return `name: hello.train
version: 1.0.0
owner_team: local
inputs:
  - {name: epochs, type: "Integer(min=1, max=50)", default: 5}
outputs:
  - {name: model, type: File, from: train.model}
operators:
  - name: train
    type: shell
    inputs:
      - {name: epochs, type: Integer, from: inputs.epochs}
    outputs:
      - {name: model, type: File}
    code:
      script: |
        echo "training for $FLOWFORGE_PARAM_EPOCHS epochs"
        echo weights > "$FLOWFORGE_OUTPUTS/model"`
}
