// Object storage for tests: a real server of the protocol, and a gate in front of it. The gate checks what Amazon's servers check
// (signatures, digests, lengths), records the requests, and simulates network faults.
import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { startFauxqs } from 'fauxqs'
import type { BucketSettings } from '../../src/config/storage.ts'

export const BUCKET = 'files'
export const CREDENTIALS = {
  access_key_id: 'AKIDEXAMPLE',
  secret_access_key: 'a/secret+key=of0tests',
  session_token: null,
}
const REGION = 'eu-test-1'

export interface Passing {
  readonly method: string
  /** The decoded key in the bucket. */
  readonly name: string
  readonly query: URLSearchParams
}

/** What happens to a request besides its normal processing. Offsets are bytes of the body. */
export interface Fault {
  /** The request is refused with this error before it is processed. */
  readonly answer?: { readonly status: number; readonly code: string }
  readonly cut_request_at?: number
  readonly cut_answer_at?: number
  /** After these bytes no more come, and the connection stays open. */
  readonly hang_answer_at?: number
  /** The request is processed, and its answer is lost. */
  readonly lose_answer?: true
  /** A byte changes on the way; `unseen` by a storage that checks nothing. */
  readonly corrupt_request?: 'seen' | 'unseen'
  readonly corrupt_answer?: true
  /** Milliseconds. */
  readonly late_ms?: number
  readonly never?: true
}

export interface BucketServer extends AsyncDisposable {
  readonly settings: BucketSettings
  /** All requests, in order. */
  readonly passed: Passing[]
  /** Multipart uploads that were neither completed nor aborted. */
  readonly open_uploads: Map<string, string>
  /** Maximum number of uploads in one page of their list. */
  uploads_per_page: number
  /** Called for each request. */
  fault: (passing: Passing) => Fault | null
  /** Puts an object into the bucket past the gate. */
  put(name: string, bytes: Uint8Array): Promise<void>
}

export async function startBucketServer(): Promise<BucketServer> {
  const storage = await startFauxqs({ port: 0, host: '127.0.0.1', logger: false })
  storage.createBucket(BUCKET)
  const open_uploads = new Map<string, string>()
  const gate: Gate = { storage: storage.port, passed: [], open_uploads, uploads_per_page: 1_000, fault: () => null }
  const server = createServer((incoming, outgoing) => {
    const { socket } = incoming
    void pass(gate, incoming, outgoing).catch(() => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const settings = { bucket: BUCKET, prefix: 'p', endpoint, region: REGION, path_style: true, credentials: CREDENTIALS }
  return Object.assign(gate, {
    settings,
    put: async (name: string, bytes: Uint8Array) => {
      const { status } = await forward(gate.storage, 'PUT', `/${BUCKET}/${name}`, {}, Buffer.from(bytes))
      if (status !== 200) throw new Error(`the storage answered ${status}`)
    },
    [Symbol.asyncDispose]: async () => {
      await closed(server)
      await storage.stop()
    },
  })
}

interface Gate {
  readonly storage: number
  readonly passed: Passing[]
  readonly open_uploads: Map<string, string>
  uploads_per_page: number
  fault: (passing: Passing) => Fault | null
}

async function closed(server: Server): Promise<void> {
  const ended = new Promise((resolve) => server.close(resolve))
  server.closeAllConnections()
  await ended
}

async function pass(gate: Gate, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const url = new URL(incoming.url!, 'http://gate')
  const name = decodeURIComponent(url.pathname.split('/').slice(2).join('/'))
  const passing = { method: incoming.method!, name, query: url.searchParams }
  gate.passed.push(passing)
  const fault = gate.fault(passing) ?? {}
  if (fault.answer) {
    incoming.resume()
    return refuse(outgoing, fault.answer.status, fault.answer.code)
  }
  if (fault.never) return
  const body = await bodyOf(incoming, fault.cut_request_at)
  if (fault.late_ms !== undefined) await setTimeout(fault.late_ms)
  const arrived = fault.corrupt_request ? corrupted(body) : body
  const wrong = wrongWith(incoming, fault.corrupt_request === 'unseen' ? body : arrived)
  if (wrong !== null) return refuse(outgoing, wrong === 'SignatureDoesNotMatch' ? 403 : 400, wrong)
  if (passing.method === 'GET' && passing.query.has('uploads')) return list(gate, passing, outgoing)
  const answer = await forward(gate.storage, passing.method, incoming.url!, incoming.headers, arrived)
  remember(gate, passing, answer)
  if (fault.lose_answer) throw new Error('lost')
  const bytes = fault.corrupt_answer ? corrupted(answer.body) : answer.body
  outgoing.writeHead(answer.status, answer.headers)
  if (fault.hang_answer_at !== undefined) return void outgoing.write(bytes.subarray(0, fault.hang_answer_at))
  if (fault.cut_answer_at === undefined) return void outgoing.end(passing.method === 'HEAD' ? undefined : bytes)
  outgoing.flushHeaders()
  outgoing.write(bytes.subarray(0, fault.cut_answer_at), () => outgoing.destroy())
}

async function bodyOf(incoming: IncomingMessage, cut_at?: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of incoming as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (cut_at !== undefined && length >= cut_at) throw new Error('cut')
  }
  return Buffer.concat(chunks)
}

function corrupted(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  if (copy.length > 0) copy[copy.length >> 1]! ^= 1
  return copy
}

function refuse(outgoing: ServerResponse, status: number, code: string): void {
  const xml = `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>no</Message></Error>`
  outgoing.writeHead(status, { 'content-type': 'application/xml' }).end(xml)
}

/** Returns the code with which S3 refuses a request, or null. */
function wrongWith({ method, url, headers }: IncomingMessage, body: Buffer): string | null {
  if (signatureOf(method!, url!, headers) !== /Signature=([0-9a-f]{64})$/.exec(headers.authorization ?? '')?.[1])
    return 'SignatureDoesNotMatch'
  if (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) !== body.length)
    return 'MissingContentLength'
  if (headers['x-amz-content-sha256'] !== hashed('sha256', body).toString('hex')) return 'XAmzContentSHA256Mismatch'
  const [md5, sha256] = [headers['content-md5'], headers['x-amz-checksum-sha256']]
  if (md5 !== undefined && md5 !== hashed('md5', body).toString('base64')) return 'BadDigest'
  return sha256 !== undefined && sha256 !== hashed('sha256', body).toString('base64') ? 'BadDigest' : null
}

function hashed(algorithm: string, bytes: Buffer): Buffer {
  return createHash(algorithm).update(bytes).digest()
}

/** Computes AWS Signature Version 4, written from its specification. */
function signatureOf(method: string, url: string, headers: IncomingMessage['headers']): string {
  const [path, query = ''] = url.split('?', 2) as [string, string?]
  const escaped = (text: string) =>
    encodeURIComponent(decodeURIComponent(text)).replace(
      /[!'()*]/g,
      (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
    )
  const pairs = query === '' ? [] : query.split('&').map((pair) => pair.split('=').map(escaped))
  const names = /SignedHeaders=([^,]+),/.exec(headers.authorization ?? '')?.[1]?.split(';') ?? []
  if (!['host', 'x-amz-content-sha256', 'x-amz-date'].every((name) => names.includes(name)))
    return 'too little is signed'
  const canonical = [
    method,
    path.split('/').map(escaped).join('/'),
    pairs
      .map(([name, value = '']) => `${name}=${value}`)
      .sort()
      .join('&'),
    ...names.map((name) => `${name}:${String(headers[name]).trim().replace(/ +/g, ' ')}`),
    '',
    names.join(';'),
    headers['x-amz-content-sha256'],
  ].join('\n')
  const time = String(headers['x-amz-date'])
  const scope = [time.slice(0, 8), REGION, 's3', 'aws4_request']
  const text = [
    'AWS4-HMAC-SHA256',
    time,
    scope.join('/'),
    hashed('sha256', Buffer.from(canonical)).toString('hex'),
  ].join('\n')
  const hmac = (key: Buffer | string, part: string) => createHmac('sha256', key).update(part).digest()
  const key = scope.reduce<Buffer | string>(
    (secret, part) => hmac(secret, part),
    `AWS4${CREDENTIALS.secret_access_key}`,
  )
  return hmac(key, text).toString('hex')
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

function forward(
  port: number,
  method: string,
  path: string,
  headers: IncomingMessage['headers'],
  body: Buffer,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const told = { ...headers, 'content-length': String(body.length) }
    const sent = request({ host: '127.0.0.1', port, method, path, headers: told }, (answer) => {
      void bodyOf(answer).then((bytes) => {
        const { connection: _kept, 'keep-alive': _too, ...more } = answer.headers
        resolve({ status: answer.statusCode!, headers: more, body: bytes })
      }, reject)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

/** The server supports multipart uploads, and does not list them. */
function remember({ open_uploads }: Gate, { method, name, query }: Passing, { status, body }: Answer): void {
  const upload_id = query.get('uploadId') ?? /<UploadId>([^<]+)</.exec(body.toString())?.[1] ?? ''
  if (method === 'POST' && query.has('uploads') && status === 200) open_uploads.set(upload_id, name)
  else if (/^(?:POST|DELETE)$/.test(method) && query.has('uploadId') && status < 300) open_uploads.delete(upload_id)
}

/** Returns a page as S3 lists it: in the order of names, and of ids for one name, after the markers. */
function list({ open_uploads, uploads_per_page }: Gate, { query }: Passing, outgoing: ServerResponse): void {
  const place = (name: string, id: string) => `${name}\0${id}`
  const after = query.has('key-marker')
    ? place(query.get('key-marker')!, query.get('upload-id-marker') ?? '\u{10ffff}')
    : ''
  const found = [...open_uploads]
    .map(([id, name]) => ({ id, name, at: place(name, id) }))
    .filter(({ name, at }) => name.startsWith(query.get('prefix')!) && at > after)
    .sort((a, b) => (a.at < b.at ? -1 : 1))
  const page = found.slice(0, uploads_per_page)
  const entries = page.map(({ id, name }) => `<Upload><Key>${name}</Key><UploadId>${id}</UploadId></Upload>`)
  const last = page.at(-1)
  const next =
    found.length > page.length && last
      ? `<IsTruncated>true</IsTruncated><NextKeyMarker>${last.name}</NextKeyMarker><NextUploadIdMarker>${last.id}</NextUploadIdMarker>`
      : '<IsTruncated>false</IsTruncated>'
  outgoing.end(`<ListMultipartUploadsResult>${next}${entries.join('')}</ListMultipartUploadsResult>`)
}
