// Shorthands for calls into the sandbox.
import assert from 'node:assert/strict'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { CodeSandbox, SandboxScript } from '../../src/engine/node-api/services/sandbox.ts'

const never = new AbortController().signal

/** A script with limits for tests: long enough for a busy machine, short enough to wait for. */
export function script(code: string, more: Partial<SandboxScript> = {}): SandboxScript {
  return {
    code,
    inputs: {},
    seed: 1,
    time_limit_ms: 10_000,
    memory_limit_mb: 64,
    signal: never,
    log: () => {},
    ...more,
  }
}

export function call(
  sandbox: CodeSandbox,
  code: string,
  more: Partial<SandboxScript> = {},
): Promise<Record<string, unknown>> {
  return sandbox.call(script(code, more))
}

/** The error of a call that must fail. */
export async function failure(running: Promise<unknown>): Promise<NodeError> {
  const error = await running.then(
    (value) => assert.fail(`it gave ${JSON.stringify(value)?.slice(0, 200)}`),
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof NodeError, String(error))
  assert.ok(error.message.length < 1000, 'the message is short')
  assert.doesNotMatch(error.message, /\/|file:|node_modules|\.ts\b/, 'the message shows nothing of ours')
  return error
}
