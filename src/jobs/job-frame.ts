// The state of a job as the frame `job_update`.
import type { JobTable } from '../db/schema.ts'
import type { EventFrame } from '../events/types.ts'
import { socketStatus } from './states.ts'

export function jobFrame({ id: job_id, workflow_id, status }: JobTable, more: object = {}): EventFrame {
  return { type: 'job_update', status: socketStatus(status), job_id, workflow_id, ...more } as EventFrame
}
