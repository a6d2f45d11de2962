// Expectations of failing nodes.
import assert from 'node:assert/strict'
import { NodeError } from '../../src/engine/node-api/node-error.ts'

/** For `assert.rejects` and `assert.throws`: a NodeError with this type, or a type that matches, and this message. */
export function failsAs(type: string | RegExp, message: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof NodeError, String(error))
    if (typeof type === 'string') assert.equal(error.type, type, error.message)
    else assert.match(error.type, type, error.message)
    assert.match(error.message, message)
    return true
  }
}
