// Commands that the caller's credential is not good for: what is said to whom sends one. Nothing of what they name is looked at.
import { type CommandInfo, commandManifest } from '../../../generated/messages.ts'
import { canCall, type Principal } from '../../access/principal.ts'
import { ServiceError } from '../../errors.ts'
import { type RequestId, sendCommandRefusal, sendJobFailure } from '../jobs/command-replies.ts'
import type { CommandConnection } from './command-connection.ts'

/** What stands in the way of a command, or null. What concerns the connection alone is everybody's. */
export function checkCommandScope(principal: Principal, { kind, scope }: CommandInfo): ServiceError | null {
  if (kind === 'connection' || canCall(principal, scope)) return null
  const message =
    principal.app_id === null
      ? `The token of this socket is not good for this command: it lacks the scope "${scope}".`
      : 'This server serves no apps yet: a visitor of one may run nothing.'
  return new ServiceError('FORBIDDEN', { message })
}

export interface JobCommand {
  readonly command: string
  readonly data?: { readonly job_id?: string | null; readonly workflow_id?: string | null } | null
  readonly request_id?: RequestId
}

/**
 * Refuses a job command by the job that it names, because clients take an answer that names none for the end of their only run; whoever starts
 * or cancels one waits for its end. False, and nothing is said, for a command that is about no one job.
 */
export function refuseJobCommand(
  connection: CommandConnection,
  { command, data, request_id }: JobCommand,
  error: ServiceError,
): boolean {
  const { job_id = null, workflow_id = null } = data ?? {}
  if (command === commandManifest.ws.run_job.command) {
    sendJobFailure(connection, job_id ?? connection.app.platform.id('job'), workflow_id, error)
    return true
  }
  if (job_id === null) return false
  sendCommandRefusal(connection, 'forbidden', job_id, request_id, { message: error.message })
  if (command === commandManifest.ws.cancel_job.command) sendJobFailure(connection, job_id, workflow_id, error)
  return true
}
