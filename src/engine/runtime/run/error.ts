// The public error of a failed run.

export interface RunError {
  node_id: string
  type: string
  message: string
}
