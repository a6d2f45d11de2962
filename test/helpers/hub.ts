// A model hub on this machine. It lists repositories and serves their files as the public hub does, and fails where a test says so.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface HubContent {
  bytes: Buffer
  /** Listed with its SHA-256, as large files are. Other files are listed with their git digest. */
  lfs?: boolean
  /** The listed digest, instead of the real one. */
  listed?: string
  /** The listed length, instead of the real one. */
  size?: number
  /** How many more times the file is listed. */
  again?: number
}

/** The behaviour for one request of a file. Absent: the file is served. */
export interface Fault {
  status?: number
  headers?: Record<string, string>
  /** Cuts the connection after so many bytes of the body. */
  cut?: number
  /** Waits after so many bytes before it sends the rest. */
  pause?: { after: number; until: Promise<unknown> }
  /** Ignores ranges. */
  whole?: boolean
}

export interface HubRequest {
  readonly path: string
  readonly authorization: string | undefined
  readonly range: string | undefined
  /** The receiver of the request: the hub, or the target of its redirects. */
  readonly at: 'hub' | 'cdn'
}

export interface TestHub extends AsyncDisposable {
  readonly url: string
  readonly cdn_url: string
  /** Files by `owner/name`, then by path. Tests change it. */
  readonly repositories: Record<string, Record<string, HubContent>>
  readonly requests: HubRequest[]
  /** Requests of files, in order. */
  readonly files: () => HubRequest[]
  /** Called for each request of a file or list, with its number among the requests of its kind. */
  fault: (request: HubRequest, count: number) => Fault | undefined
  /** Another origin serves the files. */
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
