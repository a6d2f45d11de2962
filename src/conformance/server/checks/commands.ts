// Frames and commands of the socket as the contract has them: what a frame claims to be, and valid data of each RPC.
import { errorCatalogue } from '../../../../generated/errors.ts'
import { commandManifest, frameManifest } from '../../../../generated/messages.ts'
import { frameValidators } from '../../../../generated/validators-out.js'
import type { WsCommandName } from '../claims.ts'
import { submission, workflow } from '../jobs.ts'
import { type JsonMap, mapOf } from '../json.ts'
import { retold } from '../operations.ts'
import { completedRun } from '../runs.ts'
import { asyncapi } from '../schemas.ts'
import { ownAsset } from '../senders.ts'
import type { Reply } from '../socket.ts'
import type { Trial } from '../trial.ts'

function nameOf({ type, error, command, ...rest }: JsonMap): string {
  if (type === 'rpc_response') return error === undefined ? `${String(command)}_response` : 'rpc_error'
  if (type === 'ping') return 'ping_frame'
  if (typeof type === 'string') return chatName(type, rest) ?? type
  if (error !== undefined) {
    return ['invalid_frame', 'invalid_message', 'invalid_command'].includes(String(error))
      ? String(error)
      : 'command_refused'
  }
  if ('mode' in rest) return 'set_mode_ack'
  if ('stopped' in rest) return 'stop_ack'
  if ('tool_call_id' in rest) return 'tool_result_ack'
  return 'applied' in rest ? 'update_node_properties_ack' : 'job_ack'
}

/** Chat has frames of its own under some types that those of jobs have. */
const CHAT_FRAMES: Readonly<Record<string, string>> = {
  chunk: 'chat_chunk',
  tool_call_update: 'chat_tool_call_update',
  tool_result_update: 'chat_tool_result_update',
}

function chatName(type: string, { thread_id, request_id }: JsonMap): string | null {
  if (thread_id !== undefined) return CHAT_FRAMES[type] ?? null
  return type === 'chunk' && request_id !== undefined ? 'inference_chunk' : null
}

export function frameFault(body: JsonMap): string | null {
  const name = nameOf(body) as keyof typeof frameManifest.ws
  const validate = frameManifest.ws[name] === undefined ? undefined : frameValidators.ws[name]
  // An error frame names no schema of its own by type; the others do.
  if (!validate) return `the contract has no frame ${name}`
  if (validate(body)) return null
  const [first] = validate.errors ?? []
  return `a frame is not the contract's ${name}: ${first?.instancePath} ${first?.message}`
}

export function rpcs(t: Trial): WsCommandName[] {
  return Object.values(commandManifest.ws)
    .filter(({ kind, command }) => kind === 'rpc' && t.takes(command))
    .map(({ command }) => command)
}

/** Data that the command takes, or null where the suite has nothing that it could name. */
export async function validData(t: Trial, command: WsCommandName): Promise<JsonMap | null> {
  const stored = await workflow(t, 'greeting')
  if (command === 'submit_job') return submission(stored, { name: 'Ada' })
  if (command === 'get_asset') {
    const id = await ownAsset(t)
    return id === null ? null : { id }
  }
  const needsJob = ['get_job_snapshot', 'subscribe_job', 'request_job_cancellation'].includes(command)
  const job_id = needsJob ? (await completedRun(t)).job_id : 'conformance-unknown'
  const example = exampleData(command)
  return mapOf(retold(example, { workflow_id: stored.id, etag: stored.etag, job_id }))
}

export function messageOf(command: WsCommandName): JsonMap {
  return mapOf(mapOf(mapOf(mapOf(asyncapi.channels).ws).messages)[command])
}

export function exampleData(command: WsCommandName): unknown {
  const examples = messageOf(command).examples
  const [first] = Array.isArray(examples) ? examples : []
  return mapOf(mapOf(first).payload).data ?? {}
}

type Catalogue = Readonly<Record<string, { retryable: boolean } | undefined>>

export function errorFault({ error }: Reply): string | null {
  if (error === undefined) return 'there is no error'
  const info = (errorCatalogue as Catalogue)[error.code]
  if (!info) return `the code ${error.code} is not in the catalogue`
  if (error.retryable !== info.retryable) return `${error.code} is called ${error.retryable ? '' : 'not '}retryable`
  const apiCode = error.retryable ? 'SERVICE_UNAVAILABLE' : error.code
  return error.apiCode === apiCode ? null : `apiCode is ${error.apiCode}, not ${apiCode}`
}
