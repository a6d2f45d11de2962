// The state of a job as the frame `job_update`.
import type { JobTable } from '../../db/schema.ts'
import { problemFields, type ServiceError } from '../../errors.ts'
import type { EventFrame } from '../../events/types.ts'
import { toSocketStatus } from '../state-machine.ts'

export function buildJobUpdateFrame({ id: job_id, workflow_id, status }: JobTable, more: object = {}): EventFrame {
  return { type: 'job_update', status: toSocketStatus(status), job_id, workflow_id, ...more } as EventFrame
}

/** Says that a command has failed in the form that clients take for the end of its job, and besides what every refusal says. */
export function buildFailedUpdateFrame(job_id: string, workflow_id: string | null, error: ServiceError): object {
  const { code, publicMessage: message } = error
  return {
    type: 'job_update',
    status: 'failed',
    job_id,
    workflow_id,
    error: message,
    code,
    message,
    ...problemFields(error),
  }
}
