// Generators and clients of other projects, at pinned versions, each installed once into the cache: none of them is worth a dependency of ours.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import type { CreateWorkflowRequest } from '../../generated/types.ts'
import { greeting } from '../http/kit.ts'

export const ROOT = resolve(import.meta.dirname, '../..')
export const PUBLISHED = join(ROOT, 'generated/lifecycle-v1')
/** Both documents over HTTP: what is served, and the whole. */
export const DOCUMENTS = ['openapi.implemented.json', 'openapi.json'] as const

const CACHE = join(ROOT, '.cache/generators')
const NPM = ['@hey-api/openapi-ts@0.99.0', 'orval@8.20.0', 'typescript@5.9.3']
const PYTHON = ['openapi-python-client==0.29.1']
const INSTALL_MS = 300_000

/** Where they are expected, a missing one is a failure and not a skip. */
const expected = process.env.SVC_TEST_EXPECT?.split(',') ?? []

const promised = promisify(execFile)

/** Runs a program to its end and gives what it wrote. @throws with what it wrote, where it fails */
export async function run(program: string, args: readonly string[], cwd: string, more: NodeJS.ProcessEnv = {}) {
  const env = { ...process.env, ...more }
  try {
    const { stdout } = await promised(program, [...args], { cwd, env, maxBuffer: 2 ** 26, timeout: INSTALL_MS })
    return stdout
  } catch (error) {
    const { message, stdout, stderr } = error as Error & { stdout: string; stderr: string }
    throw new Error(`${message}\n${stdout}\n${stderr}`)
  }
}

/** The folder with the npm generators, or null after the test was skipped. */
export function npmTools(context: TestContext): Promise<string | null> {
  return tools(context, 'generators', 'npm', NPM, async (folder) => {
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
    await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--save-exact', ...NPM], folder)
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

async function tools(
  context: TestContext,
  part: string,
  kind: string,
  versions: readonly string[],
  install: Install,
): Promise<string | null> {
  const folder = join(CACHE, `${kind} ${versions.join(' ')}`.replace(/[^a-z0-9.]+/gi, '-'))
  const done = join(folder, '.installed')
  if (existsSync(done)) return folder
  try {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
    await install(folder)
    writeFileSync(`${done}.new`, '')
    renameSync(`${done}.new`, done)
    return folder
  } catch (error) {
    if (expected.includes(part)) throw error
    context.skip(`skipped: ${versions.join(', ')} cannot be installed here`)
    return null
  }
}

/** The workflow that each generated client creates and runs, with what comes of it for `Ada`. */
export const WORKFLOW: CreateWorkflowRequest = greeting()
export const OUTPUTS = '{"greeting":"Hello, Ada!"}'
