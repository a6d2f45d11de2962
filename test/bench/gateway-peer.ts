// Another gateway for comparison, at a pinned version and in a separate process:
// `@portkey-ai/gateway`. It is installed into the cache for the measurement.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { type RunningProcess, runProcess } from '../helpers/process.ts'
import { until } from '../helpers/server.ts'

const VERSION = '1.15.2'
const FOLDER = resolve(import.meta.dirname, `../../.cache/portkey-${VERSION}`)
const BUILD = join(FOLDER, 'node_modules/@portkey-ai/gateway/build')
const INSTALL_MS = 300_000
/**
 * The installed version answers each stream with 500. It creates the answer with the immutable headers of a fetched one, and then adds
 * headers. The patch gives it a copy of them.
 */
const BROKEN = ':new Response(p,e)}const Ad='
const MENDED = ':new Response(p,{status:e.status,headers:new Headers(e.headers)})}const Ad='

export type Peer = RunningProcess & { readonly url: string }

/** Null where it cannot be installed. */
export async function startPeer(): Promise<Peer | null> {
  const script = await installed().catch(() => null)
  if (script === null) return null
  const port = await freePort()
  const running = runProcess(script, [`--port=${port}`, '--headless'], { NODE_ENV: 'production' })
  const url = `http://127.0.0.1:${port}`
  const answers = async () => (await fetch(url).catch(() => null))?.ok
  await until('the other gateway to answer', answers, 20_000)
  return Object.assign(running, { url })
}

/** The headers of each request, which name the upstream. */
export function peerHeaders(upstream: string): Record<string, string> {
  return { 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `${upstream}/v1`, authorization: 'Bearer none' }
}

/** Returns the path of its script. */
async function installed(): Promise<string> {
  const script = join(BUILD, 'mended.js')
  if (existsSync(script)) return script
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(join(FOLDER, 'package.json'), '{ "private": true, "type": "module" }')
  const args = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--save-exact']
  await promisify(execFile)('npm', [...args, `@portkey-ai/gateway@${VERSION}`], { cwd: FOLDER, timeout: INSTALL_MS })
  const parts = readFileSync(join(BUILD, 'start-server.js'), 'utf8').split(BROKEN)
  if (parts.length !== 2) throw new Error('the other gateway is not the one that is known')
  writeFileSync(`${script}.new`, parts.join(MENDED))
  renameSync(`${script}.new`, script)
  return script
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
