// Builds `job_update` frames from the state of a job.
import type { JobTable } from '../../db/schema.ts'
import { problemFields, type ServiceError } from '../../errors.ts'
import type { EventFrame } from '../../events/types.ts'
import { toSocketStatus } from '../state-machine.ts'

export function buildJobUpdateFrame({ id: job_id, workflow_id, status }: JobTable, more: object = {}): EventFrame {
  return { type: 'job_update', status: toSocketStatus(status), job_id, workflow_id, ...more } as EventFrame
}

/** The frame for a failed command: clients take it for the end of the job. It also has the fields of every refusal. */
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
