// What runs take and give.

/** Values of a workflow's inputs, by name: anything that JSON can say, and bytes. */
export type WorkflowInputs = Readonly<Record<string, unknown>>

/** Values of a workflow's outputs, by name: a list for an output that is declared a stream. */
export type WorkflowOutputs = Record<string, unknown>
