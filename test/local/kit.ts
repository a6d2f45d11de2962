// What the tests with a real engine share: the optional package, installed once into the cache, and models that they make themselves.
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { temporaryFolder } from '../helpers/server.ts'
import { type TinyModel, tinyModel } from '../helpers/tiny-model.ts'

const VERSION = '3.22.1'
const CACHE = resolve(import.meta.dirname, `../../.cache/models/node-llama-cpp-${VERSION}`)
const INSTALL_MS = 300_000

/** The package's parts with native code, as they are called for this system. Those for graphics cards are large, and nothing here needs them. */
const BINARIES: Readonly<Record<string, string>> = {
  'linux-x64': 'linux-x64',
  'linux-arm64': 'linux-arm64',
  'darwin-x64': 'mac-x64',
  'darwin-arm64': 'mac-arm64-metal',
  'win32-x64': 'win-x64',
}

/** Where they are expected, a missing package is a failure and not a skip. */
const expected = process.env.SVC_TEST_EXPECT?.split(',').includes('models') === true

let installing: Promise<string | null> | null = null

/** The folder that has the package in its `node_modules`, or null where it cannot be had and is not expected. */
export function localRuntime(): Promise<string | null> {
  installing ??= install().catch((error) => {
    if (expected) throw error
    return null
  })
  return installing
}

async function install(): Promise<string> {
  const done = join(CACHE, '.installed')
  if (existsSync(done)) return CACHE
  const binary = BINARIES[`${process.platform}-${process.arch}`]
  if (binary === undefined) throw new Error('the package has no part for this system')
  rmSync(CACHE, { recursive: true, force: true })
  mkdirSync(CACHE, { recursive: true })
  writeFileSync(join(CACHE, 'package.json'), '{ "private": true, "type": "module" }')
  const names = [`node-llama-cpp@${VERSION}`, `@node-llama-cpp/${binary}@${VERSION}`]
  const flags = ['--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund', '--save-exact']
  await promisify(execFile)('npm', ['install', ...flags, ...names], { cwd: CACHE, timeout: INSTALL_MS })
  writeFileSync(`${done}.new`, '')
  renameSync(`${done}.new`, done)
  return CACHE
}

export interface Bench extends Disposable {
  readonly data_dir: string
  readonly models_dir: string
  readonly runtime_dir: string
}

/** A data folder whose runtime is the one in the cache, with models by their names. */
export function bench(runtime: string, models: Readonly<Record<string, TinyModel | Buffer>>): Bench {
  const data_dir = temporaryFolder()
  const [models_dir, runtime_dir] = [join(data_dir, 'models'), join(data_dir, 'runtime')]
  mkdirSync(models_dir)
  mkdirSync(runtime_dir)
  symlinkSync(join(runtime, 'node_modules'), join(runtime_dir, 'node_modules'), 'junction')
  for (const [name, model] of Object.entries(models)) {
    const path = join(models_dir, `${name}.gguf`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, Buffer.isBuffer(model) ? model : tinyModel(model))
  }
  return {
    data_dir,
    models_dir,
    runtime_dir,
    [Symbol.dispose]: () => rmSync(data_dir, { recursive: true, force: true }),
  }
}
