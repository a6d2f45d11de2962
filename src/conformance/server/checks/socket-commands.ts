// Checks of frames against the contract, and valid data of each RPC command.
import { errorCatalogue } from '../../../../generated/errors.ts'
import { commandManifest, frameManifest } from '../../../../generated/messages.ts'
import { frameValidators } from '../../../../generated/validators-out.js'
import { replaceExampleIds } from '../contract-operations.ts'
import { asyncapiDocument } from '../contract-schemas.ts'
import { createSubmission, storeSampleWorkflow } from '../job-actions.ts'
import { type JsonMap, mapOf } from '../json.ts'
import { observeCompletedRun } from '../observed-runs.ts'
import type { WsCommandName } from '../server-claims.ts'
import type { SuiteContext } from '../suite-context.ts'
import type { RpcReply } from '../suite-socket.ts'
import { createOwnAsset } from '../survey-requests.ts'

function findFrameName({ type, error, command, ...rest }: JsonMap): string {
  if (type === 'rpc_response') return error === undefined ? `${String(command)}_response` : 'rpc_error'
  if (type === 'ping') return 'ping_frame'
  if (typeof type === 'string') return findChatFrameName(type, rest) ?? type
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

/** Chat frames share some types with job frames. */
const CHAT_FRAMES: Readonly<Record<string, string>> = {
  chunk: 'chat_chunk',
  tool_call_update: 'chat_tool_call_update',
  tool_result_update: 'chat_tool_result_update',
}

function findChatFrameName(type: string, { thread_id, request_id }: JsonMap): string | null {
  if (thread_id !== undefined) return CHAT_FRAMES[type] ?? null
  return type === 'chunk' && request_id !== undefined ? 'inference_chunk' : null
}

export function findFrameFault(body: JsonMap): string | null {
  const name = findFrameName(body) as keyof typeof frameManifest.ws
  const validate = frameManifest.ws[name] === undefined ? undefined : frameValidators.ws[name]
  // An error frame names no schema by its type. Other frames do.
  if (!validate) return `the contract has no frame ${name}`
  if (validate(body)) return null
  const [first] = validate.errors ?? []
  return `a frame does not match the contract's ${name}: ${first?.instancePath} ${first?.message}`
}

export function listClaimedRpcs(t: SuiteContext): WsCommandName[] {
  return Object.values(commandManifest.ws)
    .filter(({ kind, command }) => kind === 'rpc' && t.hasCommand(command))
    .map(({ command }) => command)
}

/** Returns data that the command accepts. Null where the suite has nothing that the data could name. */
export async function createValidData(t: SuiteContext, command: WsCommandName): Promise<JsonMap | null> {
  const stored = await storeSampleWorkflow(t, 'greeting')
  if (command === 'submit_job') return createSubmission(stored, { name: 'Ada' })
  if (command === 'get_asset') {
    const id = await createOwnAsset(t)
    return id === null ? null : { id }
  }
  const needsJob = ['get_job_snapshot', 'subscribe_job', 'request_job_cancellation'].includes(command)
  const job_id = needsJob ? (await observeCompletedRun(t)).job_id : 'conformance-unknown'
  const example = readExampleData(command)
  return mapOf(replaceExampleIds(example, { workflow_id: stored.id, etag: stored.etag, job_id }))
}

export function findCommandMessage(command: WsCommandName): JsonMap {
  return mapOf(mapOf(mapOf(mapOf(asyncapiDocument.channels).ws).messages)[command])
}

export function readExampleData(command: WsCommandName): unknown {
  const examples = findCommandMessage(command).examples
  const [first] = Array.isArray(examples) ? examples : []
  return mapOf(mapOf(first).payload).data ?? {}
}

type RetryableByCode = Readonly<Record<string, { retryable: boolean } | undefined>>

export function findErrorFault({ error }: RpcReply): string | null {
  if (error === undefined) return 'the answer has no error'
  const info = (errorCatalogue as RetryableByCode)[error.code]
  if (!info) return `the code ${error.code} is not in the catalogue`
  if (error.retryable !== info.retryable) return `${error.code} is called ${error.retryable ? '' : 'not '}retryable`
  const apiCode = error.retryable ? 'SERVICE_UNAVAILABLE' : error.code
  return error.apiCode === apiCode ? null : `apiCode is ${error.apiCode}, not ${apiCode}`
}
