// Code in the sandbox beside plain calls of the same engine in this process: the cost of workers, limits and checks.
import releaseSync from '@jitl/quickjs-wasmfile-release-sync'
import { newQuickJSWASMModuleFromVariant, type QuickJSSyncVariant } from 'quickjs-emscripten-core'
import type { CodeSandbox, SandboxScript } from '../../src/engine/node-api/services/sandbox.ts'
import { createCodeSandbox } from '../../src/sandbox/code-sandbox.ts'
import type { BenchRow } from './engine.ts'

const ROUNDS = 5
const ROUND_MS = 700
const WARM_UP = 300
const AT_ONCE = 16
const ITEMS = 20_000

const INPUTS = { words: Array.from({ length: 100 }, (_, at) => `word${at % 17}`) }
const CODE = 'const counts = {}; for (const word of words) counts[word] = (counts[word] ?? 0) + 1; return { counts }'

function script(code: string, inputs: Record<string, unknown>): SandboxScript {
  const { signal } = new AbortController()
  return { code, inputs, seed: 1, time_limit_ms: 5_000, memory_limit_mb: 64, signal, log: () => {} }
}

/** The same work in this process: a fresh runtime, the inputs, the code, the result as JSON. Only the loop limit applies. */
async function plainCall(): Promise<() => void> {
  const quickjs = await newQuickJSWASMModuleFromVariant(releaseSync as unknown as QuickJSSyncVariant)
  return () => {
    using runtime = quickjs.newRuntime()
    runtime.setInterruptHandler(() => false)
    using vm = runtime.newContext()
    using text = vm.newString(JSON.stringify(INPUTS))
    vm.setProp(vm.global, 'inputs', text)
    const code = `JSON.stringify((function () { const { words } = JSON.parse(inputs); ${CODE} })())`
    using result = vm.unwrapResult(vm.evalCode(code))
    JSON.parse(vm.getString(result))
  }
}

/** Calls per second. */
async function rate(work: () => unknown, perCall = 1): Promise<number> {
  const from = performance.now()
  let [calls, took] = [0, 0]
  do {
    await work()
    calls += perCall
    took = performance.now() - from
  } while (took < ROUND_MS)
  return (calls * 1000) / took
}

async function itemsPerSecond(sandbox: CodeSandbox): Promise<number> {
  const from = performance.now()
  let count = 0
  for await (const _ of sandbox.stream(script('for (let i = 0; i < count; i++) yield { i }', { count: ITEMS }))) count++
  return (count * 1000) / (performance.now() - from)
}

/** Milliseconds from no sandbox to the first result, and from a discarded worker to the next result. */
async function coldStarts(): Promise<{ first: number; again: number }> {
  const from = performance.now()
  await using sandbox = createCodeSandbox({ workers: 1 })
  await sandbox.call(script(CODE, INPUTS))
  const first = performance.now() - from
  await sandbox.call(script('const f = () => f() + 1; f()', {})).catch(() => {})
  const fault = performance.now()
  await sandbox.call(script(CODE, INPUTS))
  return { first, again: performance.now() - fault }
}

const middle = (values: number[]) => values.sort((a, b) => a - b)[values.length >> 1]!

export async function benchSandbox(): Promise<BenchRow[]> {
  const starts: { first: number; again: number }[] = []
  for (let round = 0; round < ROUNDS; round++) starts.push(await coldStarts())
  await using sandbox = createCodeSandbox()
  const plain = await plainCall()
  const one = () => sandbox.call(script(CODE, INPUTS))
  const many = () => Promise.all(Array.from({ length: AT_ONCE }, one))
  for (let count = 0; count < WARM_UP; count += AT_ONCE) await many()
  for (let count = 0; count < WARM_UP; count++) plain()
  // They take turns, so that a disturbance affects both. The round with the median proportion counts.
  const rounds: { plain: number; one: number; many: number }[] = []
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({ plain: await rate(plain), one: await rate(one), many: await rate(many, AT_ONCE) })
  }
  rounds.sort((a, b) => a.many / a.plain - b.many / b.plain)
  const counted = rounds[ROUNDS >> 1]!
  const row = (name: string, value: number, unit: string) => ({ name: `sandbox: ${name}`, value, unit })
  return [
    row('the same code in a plain engine', Math.round(counted.plain), 'calls/s'),
    row('calls one after the other', Math.round(counted.one), 'calls/s'),
    row(`calls ${AT_ONCE} at once`, Math.round(counted.many), 'calls/s'),
    row('one after the other in proportion to the plain engine', counted.one / counted.plain, ''),
    row(`${AT_ONCE} at once in proportion to the plain engine`, counted.many / counted.plain, ''),
    row(`items of a stream of ${ITEMS.toLocaleString('en')}`, Math.round(await itemsPerSecond(sandbox)), 'items/s'),
    row('cold start to the first result', Math.round(middle(starts.map(({ first }) => first))), 'ms'),
    row('a new worker after a fault', Math.round(middle(starts.map(({ again }) => again))), 'ms'),
  ]
}
