// HTTP requests of the client: those of the lifecycle profile become calls.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isTooDeep } from '../nesting.ts'
import { isAdmitted } from './admission.ts'
import { HttpCall } from './call.ts'
import { partsOf } from './multipart.ts'
import { receive } from './reception.ts'
import { refusal, sdkError } from './records.ts'
import { type Asked, route, urlOf } from './routes.ts'
import { decoration, type Production } from './scenario.ts'
import type { Stage } from './stage.ts'
import type { Fields } from './wire.ts'

/** Clients in pages of any origin may take part. */
const FOR_PAGES = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Headers': '*, Authorization',
  'Access-Control-Allow-Methods': 'GET, POST',
  'Access-Control-Expose-Headers': '*',
} as const

export async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  production: Production,
  where: string,
): Promise<void> {
  for (const [name, value] of Object.entries(FOR_PAGES)) response.setHeader(name, value)
  if (request.method === 'OPTIONS') return void response.writeHead(204).end()
  const { stage, scenario } = production
  const { transcript } = stage
  const { socket } = request
  const bytes = await bodyOf(request, stage, where)
  if (bytes === null) return void socket.destroy()
  const upload = request.headers['content-type']?.startsWith('multipart/') ?? false
  const body = upload ? `${bytes.byteLength} bytes` : jsonOf(bytes)
  const entry = transcript.add('from_client', where, `${request.method} ${request.url}`, body)
  const refuse = (status: number, content: Fields) => {
    transcript.add('to_client', where, `${status}`, content)
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(content))
  }
  if (!isAdmitted(request, production, entry)) return refuse(401, { error: 'Unauthorized' })
  const asked = route(request.method!, request.url!, body)
  if (asked === null) {
    scenario.play.lost?.(stage, entry)
    return refuse(404, sdkError(refusal('NOT_FOUND')))
  }
  const stream = asked.name === 'followJobEvents' && !request.headers.accept?.includes('json')
  const place = { response, transcript, where, entry, stream, decorate: decoration(production) }
  receive(new HttpCall(asked.name, dataOf(asked, request, bytes), place), stage, scenario)
}

/** The body, or null where the client has gone in the middle of it or sends too much. */
async function bodyOf(request: IncomingMessage, stage: Stage, where: string): Promise<Buffer | null> {
  const chunks: Buffer[] = []
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      if (!stage.take(chunk.byteLength, where)) return null
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } catch {
    return null
  }
}

function jsonOf(bytes: Buffer): unknown {
  if (bytes.byteLength === 0) return undefined
  try {
    const value = JSON.parse(bytes.toString('utf8'))
    return isTooDeep(value) ? `${bytes.byteLength} bytes that are nested too deep` : value
  } catch {
    return bytes.toString('utf8')
  }
}

function dataOf({ name, data }: Asked, { headers, url }: IncomingMessage, bytes: Buffer): Fields {
  if (name === 'uploadTemporaryAsset') return uploadData(headers['content-type'] ?? '', bytes)
  if (name !== 'followJobEvents') return data
  const after_sequence = headers['last-event-id'] ?? urlOf(url!).searchParams.get('after_sequence')
  return { ...data, after_sequence }
}

/** An upload as data: what the one part holds, or `problem`. */
function uploadData(content_type: string, bytes: Buffer): Fields {
  const parts = partsOf(content_type, bytes)
  if (typeof parts === 'string') return { problem: parts }
  const [file] = parts
  if (parts.length !== 1 || file?.name !== 'file') return { problem: 'it is not one part with the name file' }
  return {
    name: file.filename,
    content_type: file.content_type,
    size: file.bytes.byteLength,
    content_base64: file.bytes.toString('base64'),
  }
}
