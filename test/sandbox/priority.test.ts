// Code does not take the processor from the main thread: its threads have a lower priority, and an even lower one when it runs long.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCodeSandbox } from '../../src/sandbox/code-sandbox.ts'
import { NO_NICE_THREADS, niceThreads } from '../helpers/nice-threads.ts'
import { until } from '../helpers/server.ts'
import { call, script } from './kit.ts'

test('threads of the sandbox have a lower priority than the main thread, and the lowest while code runs long', {
  skip: NO_NICE_THREADS,
}, async () => {
  await using sandbox = createCodeSandbox({ workers: 1 })
  await call(sandbox, 'return {}')
  await until('its worker to be nice', () => niceThreads().includes(5))
  const end = new AbortController()
  const endless = sandbox.call(script('for (;;);', { time_limit_ms: 3_600_000, signal: end.signal }))
  await until('the one with endless code to be nicer', () => niceThreads().includes(15))
  end.abort()
  await assert.rejects(endless, { name: 'AbortError' })
  await until('it to be gone', () => !niceThreads().includes(15))
  await call(sandbox, 'return {}')
})

test('a thread that ran long code is reused, at the priority of a new one', { skip: NO_NICE_THREADS }, async () => {
  await using sandbox = createCodeSandbox({ workers: 1 })
  const long = 'for (const to = Date.now() + 1_500; Date.now() < to; ); return {}'
  const running = call(sandbox, long)
  await until('it to count as long', () => niceThreads().includes(15))
  await running
  await call(sandbox, 'return {}')
  await until('none to be nicest', () => !niceThreads().includes(15))
})
