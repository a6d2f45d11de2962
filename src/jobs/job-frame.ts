// The state of a job as the frame `job_update`.
import type { JobTable } from '../db/schema.ts'
import { listed, type ServiceError } from '../errors.ts'
import type { EventFrame } from '../events/types.ts'
import { socketStatus } from './states.ts'

export function jobFrame({ id: job_id, workflow_id, status }: JobTable, more: object = {}): EventFrame {
  return { type: 'job_update', status: socketStatus(status), job_id, workflow_id, ...more } as EventFrame
}

/** Says that a command has failed in the form that clients take for the end of its job, and besides what every refusal says. */
export function failedUpdate(job_id: string, workflow_id: string | null, error: ServiceError): object {
  const { code, publicMessage: message } = error
  return { type: 'job_update', status: 'failed', job_id, workflow_id, error: message, code, message, ...listed(error) }
}
