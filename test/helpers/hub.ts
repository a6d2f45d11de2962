// A model hub on this machine: lists repositories and serves their files as the public one does, and goes wrong where a test says so.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface HubContent {
  bytes: Buffer
  /** Listed with its SHA-256, as large files are; others as git counts them. */
  lfs?: boolean
  /** What the list says in place of the digest that it has. */
  listed?: string
  /** What the list says in place of its length. */
  size?: number
  /** Listed so many times more. */
  again?: number
}

/** What becomes of one request of a file; absent: it is served. */
export interface Fault {
  status?: number
  headers?: Record<string, string>
  /** The connection is cut after so many bytes of the body. */
  cut?: number
  /** Waited for before the rest, after so many bytes. */
  pause?: { after: number; until: Promise<unknown> }
  /** Ranges are not understood. */
  whole?: boolean
}

export interface HubRequest {
  readonly path: string
  readonly authorization: string | undefined
  readonly range: string | undefined
  /** Where the request came to: the hub, or where its redirects lead. */
  readonly at: 'hub' | 'cdn'
}

export interface TestHub extends AsyncDisposable {
  readonly url: string
  readonly cdn_url: string
  /** By `owner/name`, then by path. To be changed as a test likes. */
  readonly repositories: Record<string, Record<string, HubContent>>
  readonly requests: HubRequest[]
  /** Requests of files, in their order. */
  readonly files: () => HubRequest[]
  /** Asked for each request of a file or list with its number among all that came to its kind. */
  fault: (request: HubRequest, count: number) => Fault | undefined
  /** Files are served by another origin. */
  redirects: boolean
  key: string | null
}

export async function startHub(repositories: Record<string, Record<string, HubContent>> = {}): Promise<TestHub> {
  const servers = (['hub', 'cdn'] as const).map((at) =>
    createServer((request, response) => void answer(hub, at, request, response)).listen(0, '127.0.0.1'),
  )
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const [url, cdn_url] = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const hub: TestHub = {
    url: url!,
    cdn_url: cdn_url!,
    repositories,
    requests: [],
    files: () => hub.requests.filter(({ path }) => !path.startsWith('/api/')),
    fault: () => undefined,
    redirects: false,
    key: null,
    async [Symbol.asyncDispose]() {
      for (const server of servers) {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      }
    },
  }
  return hub
}

async function answer(hub: TestHub, at: HubRequest['at'], { url, headers }: IncomingMessage, response: ServerResponse) {
  const path = decodeURIComponent(URL.parse(url ?? '/', hub.url)!.pathname)
  const request = { path, at, authorization: headers.authorization, range: headers.range }
  hub.requests.push(request)
  const same = hub.requests.filter((one) => one.at === at && one.path.startsWith('/api/') === path.startsWith('/api/'))
  const fault = hub.fault(request, same.length) ?? {}
  response.on('error', () => {})
  if (hub.key !== null && at === 'hub' && headers.authorization !== `Bearer ${hub.key}`) return end(response, 401)
  if (fault.status) return end(response, fault.status, fault.headers)
  const listed = /^\/api\/models\/(.+)$/.exec(path)?.[1]
  if (listed !== undefined) {
    if (fault.pause) await fault.pause.until
    return list(hub.repositories[listed], listed, response)
  }
  const [, repo_id = '', file = ''] = /^\/(.+?)\/resolve\/main\/(.+)$/.exec(path) ?? []
  const content = hub.repositories[repo_id]?.[file]
  if (!content) return end(response, 404)
  if (at === 'hub' && hub.redirects) return end(response, 302, { Location: `${hub.cdn_url}${url}` })
  await serve(content.bytes, headers, fault, response)
}

function end(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  response.writeHead(status, headers).end()
}

function list(files: Record<string, HubContent> | undefined, id: string, response: ServerResponse): void {
  if (!files) return end(response, 404)
  const siblings = Object.entries(files).flatMap(
    ([rfilename, { bytes, lfs = true, listed, size = bytes.length, again = 0 }]) =>
      Array(again + 1).fill({
        rfilename,
        size,
        blobId: lfs ? gitDigest(Buffer.from('a pointer')) : (listed ?? gitDigest(bytes)),
        ...(lfs ? { lfs: { sha256: listed ?? sha256(bytes), size, pointerSize: 134 } } : {}),
      }),
  )
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ id, siblings }))
}

async function serve(bytes: Buffer, headers: IncomingMessage['headers'], fault: Fault, response: ServerResponse) {
  const tag = `"${sha256(bytes)}"`
  const start = Number(/^bytes=(\d+)-$/.exec(headers.range ?? '')?.[1] ?? 0)
  const part = !fault.whole && start > 0 && (headers['if-range'] ?? tag) === tag
  if (part && start >= bytes.length) return end(response, 416)
  const body = part ? bytes.subarray(start) : bytes
  const range = { 'Content-Range': `bytes ${start}-${bytes.length - 1}/${bytes.length}` }
  response.writeHead(part ? 206 : 200, { ETag: tag, 'Content-Length': body.length, ...(part ? range : {}) })
  if (fault.pause) {
    response.write(body.subarray(0, fault.pause.after))
    await fault.pause.until
    response.end(body.subarray(fault.pause.after))
  } else if (fault.cut === undefined) response.end(body)
  else response.write(body.subarray(0, fault.cut), () => response.destroy())
}

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

function gitDigest(bytes: Buffer): string {
  return createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex')
}
