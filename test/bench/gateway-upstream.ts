// The upstream behind the measured gateway, as a separate process: a minimal server that answers chats in OpenAI's form with prepared
// bytes. The model's name sets the pace of a stream: `fast` without a pause, `calm` with one after its first chunk, `slow` with a chunk now
// and then until the client disconnects.
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CHUNKS, DONE, eventAt, LAST, WHOLE } from './gateway-answers.ts'

const CALM_MS = 10
const SLOW_MS = 500
const EVENTS = Array.from({ length: CHUNKS }, (_, at) => Buffer.from(eventAt(at)))
const END = Buffer.from(LAST + DONE)
const ANSWER = Buffer.from(WHOLE)
const LIST = JSON.stringify({
  object: 'list',
  data: ['fast', 'calm', 'slow'].map((id) => ({ id, object: 'model', created: 1_700_000_000, owned_by: 'bench' })),
})

/** Each chunk is one write in its own turn of the event loop, as with a model. */
function fast(response: ServerResponse, at = 0): void {
  if (response.destroyed) return
  if (at === CHUNKS) return void response.end(END)
  response.write(EVENTS[at])
  setImmediate(fast, response, at + 1)
}

/** The first chunk travels to the client while the server does nothing else. */
function calm(response: ServerResponse): void {
  response.write(EVENTS[0])
  setTimeout(fast, CALM_MS, response, 1)
}

function slow(response: ServerResponse): void {
  let at = 0
  const tell = () => void response.write(eventAt(at++))
  tell()
  const timer = setInterval(tell, SLOW_MS)
  response.on('close', () => clearInterval(timer))
}

function answer(response: ServerResponse, body: string): void {
  if (!/"stream": ?true/.test(body)) {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': ANSWER.length })
    return void response.end(ANSWER)
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const model = /"model": ?"(\w+)"/.exec(body)?.[1]
  if (model === 'slow') slow(response)
  else if (model === 'calm') calm(response)
  else fast(response)
}

const server = createServer((request, response) => {
  if (request.method === 'GET') return void response.setHeader('content-type', 'application/json').end(LIST)
  let body = ''
  request.setEncoding('latin1')
  request.on('data', (text: string) => {
    body += text
  })
  request.on('end', () => answer(response, body))
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', 4_096, () => {
  console.log(`listens on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
