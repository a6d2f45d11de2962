// HTTP requests of the client. Requests of the lifecycle profile become calls.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isNestedTooDeep } from '../nesting-limit.ts'
import { HttpCall } from './call.ts'
import { dispatchCall } from './call-dispatch.ts'
import type { JsonMap } from './frame-codec.ts'
import { parseFormParts } from './multipart-parser.ts'
import { parseRequestUrl, type RoutedCall, routeRequest } from './routes.ts'
import { createDecorator, type ScenarioContext } from './scenario.ts'
import type { ScenarioRun } from './scenario-run.ts'
import { findCallError, toSdkErrorBody } from './server-records.ts'
import { isTokenAccepted } from './token-check.ts'

/** Clients in pages of any origin may take part. */
const CORS_HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Headers': '*, Authorization',
  'Access-Control-Allow-Methods': 'GET, POST',
  'Access-Control-Expose-Headers': '*',
} as const

export async function serveHttpRequest(
  request: IncomingMessage,
  response: ServerResponse,
  production: ScenarioContext,
  where: string,
): Promise<void> {
  for (const [name, value] of Object.entries(CORS_HEADERS)) response.setHeader(name, value)
  if (request.method === 'OPTIONS') return void response.writeHead(204).end()
  const { scenarioRun: run, scenario } = production
  const { transcript } = run
  const { socket } = request
  const bytes = await readBody(request, run, where)
  if (bytes === null) return void socket.destroy()
  const upload = request.headers['content-type']?.startsWith('multipart/') ?? false
  const body = upload ? `${bytes.byteLength} bytes` : parseJsonBody(bytes)
  const entry = transcript.add('from_client', where, `${request.method} ${request.url}`, body)
  const refuse = (status: number, content: JsonMap) => {
    transcript.add('to_client', where, `${status}`, content)
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(content))
  }
  if (!isTokenAccepted(request, production, entry)) return refuse(401, { error: 'Unauthorized' })
  const asked = routeRequest(request.method!, request.url!, body)
  if (asked === null) {
    scenario.script.onUnknownPath?.(run, entry)
    return refuse(404, toSdkErrorBody(findCallError('NOT_FOUND')))
  }
  const stream = asked.name === 'followJobEvents' && !request.headers.accept?.includes('json')
  const place = { response, transcript, where, entry, stream, decorate: createDecorator(production) }
  dispatchCall(new HttpCall(asked.name, readCallData(asked, request, bytes), place), run, scenario)
}

/** Reads the body. Null where the client has disconnected, or sends too much. */
async function readBody(request: IncomingMessage, run: ScenarioRun, where: string): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      if (!run.countBytes(chunk.byteLength, where)) return null
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } catch {
    return null
  }
}

function parseJsonBody(bytes: Buffer): unknown {
  if (bytes.byteLength === 0) return undefined
  try {
    const value = JSON.parse(bytes.toString('utf8'))
    return isNestedTooDeep(value) ? `${bytes.byteLength} bytes of a value that is nested too deep` : value
  } catch {
    return bytes.toString('utf8')
  }
}

function readCallData({ name, data }: RoutedCall, { headers, url }: IncomingMessage, bytes: Buffer): JsonMap {
  if (name === 'uploadTemporaryAsset') return parseUpload(headers['content-type'] ?? '', bytes)
  if (name !== 'followJobEvents') return data
  const after_sequence = headers['last-event-id'] ?? parseRequestUrl(url!).searchParams.get('after_sequence')
  return { ...data, after_sequence }
}

/** Parses an upload into the data of its one part, or `problem`. */
function parseUpload(content_type: string, bytes: Buffer): JsonMap {
  const parts = parseFormParts(content_type, bytes)
  if (typeof parts === 'string') return { problem: parts }
  const [file] = parts
  if (parts.length !== 1 || file?.name !== 'file') return { problem: 'the upload is not one part with the name file' }
  return {
    name: file.filename,
    content_type: file.content_type,
    size: file.bytes.byteLength,
    content_base64: file.bytes.toString('base64'),
  }
}
