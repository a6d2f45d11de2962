// The state of a job as the frame `job_update`.
import type { JobTable } from '../db/schema.ts'
import type { JobFrame } from '../events/types.ts'
import { socketStatus } from './states.ts'

export function jobFrame({ id: job_id, workflow_id, status }: JobTable, more: object = {}): JobFrame {
  return { type: 'job_update', status: socketStatus(status), job_id, workflow_id, ...more } as JobFrame
}
