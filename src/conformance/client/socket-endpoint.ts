// Frames of the client. Commands of the lifecycle profile become calls; the endpoint answers other commands itself.
import { type ClientCallName, SocketCall } from './call.ts'
import { dispatchCall } from './call-dispatch.ts'
import { describeSchemaFailure } from './call-validation.ts'
import type { ClientConnection } from './connection.ts'
import type { FrameMode, JsonMap } from './frame-codec.ts'
import type { Scenario } from './scenario.ts'
import type { ScenarioRun } from './scenario-run.ts'
import { findCallError, toSocketError } from './server-records.ts'

const CALL_COMMANDS = new Set<unknown>([
  'get_capabilities',
  'preflight_workflow',
  'get_workflow',
  'list_workflows',
  'list_workflow_summaries',
  'get_workflow_interface',
  'get_workflow_interfaces',
  'submit_job',
  'get_job_snapshot',
  'subscribe_job',
  'request_job_cancellation',
] satisfies ClientCallName[])

export function createFrameHandler(run: ScenarioRun, scenario: Scenario) {
  /** The request_ids of each connection. */
  const used = new Map<ClientConnection, Set<unknown>>()
  return (connection: ClientConnection, frame: JsonMap, entry: number): void => {
    const { command, request_id } = frame
    if (scenario.script.onFrame?.(connection, frame, run)) return
    if (command === undefined) {
      if (frame.type === undefined) run.addViolation('the frame has neither a command nor a type', entry)
      return
    }
    const problem = describeSchemaFailure(frame)
    if (problem) return run.addViolation(`the command does not match its schema: ${problem}`, entry)
    if (request_id !== undefined && request_id !== null) {
      const ids = used.get(connection) ?? new Set()
      if (ids.has(request_id)) run.addViolation('the request_id was used on this connection before', entry)
      used.set(connection, ids.add(request_id))
      if (ids.size > 1) scenario.script.onSecondRequestId?.(run)
    }
    if (CALL_COMMANDS.has(command))
      dispatchCall(new SocketCall(connection, command as ClientCallName, frame, entry), run, scenario)
    else replyToOtherCommand(connection, frame)
  }
}

function replyToOtherCommand(connection: ClientConnection, { command, data, request_id }: JsonMap): void {
  const id = typeof request_id === 'string' ? { request_id } : {}
  if (command === 'ping') connection.send({ type: 'pong', ts: Date.now(), ...id })
  else if (command === 'set_mode') setMode(connection, (data as { mode: FrameMode }).mode, id)
  else if (typeof request_id === 'string') {
    connection.send({
      type: 'rpc_response',
      request_id,
      command,
      error: toSocketError(findCallError('INVALID_REQUEST')),
    })
  } else
    connection.send({ type: 'error', code: 'NOT_FOUND', message: 'This server supports only the lifecycle profile.' })
}

/** The acknowledgement still has the old encoding. */
function setMode(connection: ClientConnection, mode: FrameMode, id: JsonMap): void {
  connection.send({ message: `Frames are ${mode} from now on.`, mode, ...id })
  connection.mode = mode
}
