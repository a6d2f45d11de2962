// The types of a run's inputs and outputs.

/** Values of a workflow's inputs by name: any JSON value, and bytes. */
export type WorkflowInputs = Readonly<Record<string, unknown>>

/** Values of a workflow's outputs by name. A streamed output is a list. */
export type WorkflowOutputs = Record<string, unknown>
