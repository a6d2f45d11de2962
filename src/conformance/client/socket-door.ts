// Frames of the client: commands of the lifecycle profile become calls, the few others are answered here.
import { type CallName, SocketCall } from './call.ts'
import { problemOf } from './checks.ts'
import type { Connection } from './connection.ts'
import { receive } from './reception.ts'
import { refusal, socketError } from './records.ts'
import type { Scenario } from './scenario.ts'
import type { Stage } from './stage.ts'
import type { Fields, Mode } from './wire.ts'

const CALLS = new Set<unknown>([
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
] satisfies CallName[])

export function receiveFrame(stage: Stage, scenario: Scenario) {
  /** The request_ids of each connection. */
  const used = new Map<Connection, Set<unknown>>()
  return (connection: Connection, frame: Fields, entry: number): void => {
    const { command, request_id } = frame
    if (scenario.play.frame?.(connection, frame, stage)) return
    if (command === undefined) {
      if (frame.type === undefined) stage.violate('the frame has neither a command nor a type', entry)
      return
    }
    const problem = problemOf(frame)
    if (problem) return stage.violate(`the command is not what its schema says: ${problem}`, entry)
    if (request_id !== undefined && request_id !== null) {
      const ids = used.get(connection) ?? new Set()
      if (ids.has(request_id)) stage.violate('the request_id was used on this connection before', entry)
      used.set(connection, ids.add(request_id))
      if (ids.size > 1) scenario.play.several?.(stage)
    }
    if (CALLS.has(command)) receive(new SocketCall(connection, command as CallName, frame, entry), stage, scenario)
    else answerOther(connection, frame)
  }
}

function answerOther(connection: Connection, { command, data, request_id }: Fields): void {
  const id = typeof request_id === 'string' ? { request_id } : {}
  if (command === 'ping') connection.send({ type: 'pong', ts: Date.now(), ...id })
  else if (command === 'set_mode') setMode(connection, (data as { mode: Mode }).mode, id)
  else if (typeof request_id === 'string') {
    connection.send({ type: 'rpc_response', request_id, command, error: socketError(refusal('INVALID_REQUEST')) })
  } else connection.send({ type: 'error', code: 'NOT_FOUND', message: 'This server only knows the lifecycle profile.' })
}

/** The acknowledgement still has the old encoding. */
function setMode(connection: Connection, mode: Mode, id: Fields): void {
  connection.send({ message: `Frames are ${mode} from now on.`, mode, ...id })
  connection.mode = mode
}
