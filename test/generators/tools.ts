// Generators and clients of other projects, at pinned versions, each installed once into the cache: none of them is worth a dependency of ours.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import type { CreatedToken, CreateWorkflowRequest } from '../../generated/types.ts'
import { call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'
import { greeting } from '../http/kit.ts'

export const ROOT = resolve(import.meta.dirname, '../..')
export const PUBLISHED = join(ROOT, 'generated/lifecycle-v1')
/** Both documents over HTTP: what is served, and the whole. */
export const DOCUMENTS = ['openapi.implemented.json', 'openapi.json'] as const

const CACHE = join(ROOT, '.cache/generators')
const NPM = ['@hey-api/openapi-ts@0.99.0', 'orval@8.20.0', 'typescript@5.9.3']
const MODELINA = ['@asyncapi/modelina@5.10.1']
const PYTHON = ['openapi-python-client==0.29.1', 'jsonschema==4.26.0']
/** Of one program, in milliseconds: a compiler may have to fetch and compile hundreds of libraries first. */
const LONGEST_MS = 600_000

/** Where they are expected, a missing one is a failure and not a skip. */
const expected = process.env.SVC_TEST_EXPECT?.split(',') ?? []

const promised = promisify(execFile)

/** Runs a program to its end and gives what it wrote. @throws with what it wrote, where it fails */
export async function run(program: string, args: readonly string[], cwd: string, more: NodeJS.ProcessEnv = {}) {
  const env = { ...process.env, ...more }
  try {
    const { stdout } = await promised(program, [...args], { cwd, env, maxBuffer: 2 ** 26, timeout: LONGEST_MS })
    return stdout
  } catch (error) {
    const { message, stdout, stderr } = error as Error & { stdout: string; stderr: string }
    throw new Error(`${message}\n${stdout}\n${stderr}`)
  }
}

/** The folder with the npm generators, or null after the test was skipped. */
export function npmTools(context: TestContext): Promise<string | null> {
  return npmPackages(context, NPM)
}

/** The folder with the generator of types for AsyncAPI, which is as large as all others; null after the test was skipped. */
export function modelina(context: TestContext): Promise<string | null> {
  return npmPackages(context, MODELINA)
}

function npmPackages(context: TestContext, packages: readonly string[]): Promise<string | null> {
  return tools(context, 'generators', 'npm', packages, async (folder) => {
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
    await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--save-exact', ...packages], folder)
  })
}

/** The folder with a virtual environment of Python, or null after the test was skipped. */
export function pythonTools(context: TestContext): Promise<string | null> {
  return pythonPackages(context, 'generators', PYTHON)
}

/** The same with packages of one's own; `part` says who expects them. */
export function pythonPackages(context: TestContext, part: string, packages: readonly string[]) {
  return tools(context, part, 'python', packages, async (folder) => {
    await run('python3', ['-m', 'venv', '--copies', '.'], folder)
    await run(join(folder, 'bin/python'), ['-m', 'pip', 'install', '--quiet', ...packages], folder)
  })
}

type Install = (folder: string) => Promise<void>

/** By folder. Tests that run at the same time may want the same. */
const underWay = new Map<string, Promise<void>>()

async function tools(
  context: TestContext,
  part: string,
  kind: string,
  versions: readonly string[],
  install: Install,
): Promise<string | null> {
  const folder = join(CACHE, `${kind} ${versions.join(' ')}`.replace(/[^a-z0-9.]+/gi, '-'))
  const installed = underWay.get(folder) ?? installedOnce(folder, install)
  underWay.set(folder, installed)
  try {
    await installed
    return folder
  } catch (error) {
    skipUnlessExpected(context, part, error, `${versions.join(', ')} cannot be installed here`)
    return null
  }
}

async function installedOnce(folder: string, install: Install): Promise<void> {
  const done = join(folder, '.installed')
  if (existsSync(done)) return
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  await install(folder)
  writeFileSync(`${done}.new`, '')
  renameSync(`${done}.new`, done)
}

function skipUnlessExpected(context: TestContext, part: string, error: unknown, why: string): void {
  if (expected.includes(part)) throw error
  context.skip(`skipped: ${why}`)
}

/** The generator of clients in many languages, a program for Java; null after the test was skipped. */
export async function openapiGenerator(context: TestContext): Promise<string | null> {
  const artifact = 'org.openapitools:openapi-generator-cli:7.25.0'
  const folder = await tools(context, 'generators', 'maven', [artifact], async (folder) => {
    await run('mvn', ['-q', '-B', 'dependency:copy', `-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`], folder)
  })
  return folder && join(folder, 'openapi-generator-cli-7.25.0.jar')
}

/** The generator of clients in Go; null after the test was skipped. */
export async function oapiCodegen(context: TestContext): Promise<string | null> {
  const module = 'github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2'
  const folder = await tools(context, 'generators', 'go', [module], async (folder) => {
    await run('go', ['install', module], folder, { GOBIN: folder })
  })
  return folder && join(folder, 'oapi-codegen')
}

/** Where what Rust compiles of the libraries of others is kept. */
export const RUST_CACHE = join(CACHE, 'rust')

/** Whether a compiler is there; the test is skipped where it is not, unless it is expected. */
export async function hasCompiler(context: TestContext, program: string, args: readonly string[]): Promise<boolean> {
  try {
    await run(program, args, ROOT)
    return true
  } catch (error) {
    skipUnlessExpected(context, 'generators', error, `${program} is not here`)
    return false
  }
}

/** The workflow that each generated client creates and runs. */
export const WORKFLOW: CreateWorkflowRequest = greeting()

/** What the program of each client prints: the output for `Ada`, the first of its jobs, the last event of that, and an error. */
export const PRINTED = 'Hello, Ada!\n1 job completed\njob_terminal completed\n404 workflow_not_found\n'

/** Has `program` use a server that it reaches at an address, with a token: what it prints is as it should be. */
export async function usesService(program: (given: readonly string[]) => Promise<string>): Promise<void> {
  await using server = await startServer()
  const { body } = await call<CreatedToken>(server, 'POST', '/api/tokens', { body: { name: 'a client' } })
  assert.equal(await program([server.url, body.token, JSON.stringify(WORKFLOW)]), PRINTED)
}
