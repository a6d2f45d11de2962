// Why a run failed, as everybody may read it.

export interface RunError {
  node_id: string
  type: string
  message: string
}
