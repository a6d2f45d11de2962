// Refuses commands that the caller's credential does not allow. Nothing that a command names is read.
import { type CommandInfo, commandManifest } from '../../../generated/messages.ts'
import { canCall, type Principal } from '../../access/principal.ts'
import { ServiceError } from '../../errors.ts'
import { type RequestId, sendCommandRefusal, sendJobFailure } from '../jobs/command-replies.ts'
import type { CommandConnection } from './command-connection.ts'

/** The error of a command without permission, or null. All callers may use commands about the connection itself. */
export function checkCommandScope(principal: Principal, { kind, scope }: CommandInfo): ServiceError | null {
  if (kind === 'connection' || canCall(principal, scope)) return null
  const message =
    principal.app_id === null
      ? `The token of this socket lacks the scope "${scope}", which this command needs.`
      : 'This server does not serve apps yet. A visitor of an app cannot run commands.'
  return new ServiceError('FORBIDDEN', { message })
}

export interface JobCommand {
  readonly command: string
  readonly data?: { readonly job_id?: string | null; readonly workflow_id?: string | null } | null
  readonly request_id?: RequestId
}

/**
 * Refuses a job command in a frame with the job's id, because clients take an answer without an id for the end of their only run. A client that runs
 * or cancels a job also gets its end. Returns false, without an answer, for a command about several jobs.
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
