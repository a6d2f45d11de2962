// Issues of graphs, for tests of validation.
import assert from 'node:assert/strict'
import { compileGraph } from '../../src/engine/compile/compiler.ts'
import type { Graph, GraphIssue, GraphIssueCode } from '../../src/engine/compile/graph.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'

/** All issues of a graph. It has a plan unless one of them is an error other than an invalid expression. */
export function found(of: Graph, registry = builtinRegistry): GraphIssue[] {
  const { plan, issues } = compileGraph(of, registry)
  assert.equal(
    plan === null,
    issues.some((one) => one.severity === 'error' && one.code !== 'invalid_expression'),
  )
  return issues
}

/** The errors of a graph. */
export function errors(of: Graph, registry = builtinRegistry): GraphIssue[] {
  return found(of, registry).filter((one) => one.severity === 'error')
}

/** The warnings of a graph. */
export function warnings(of: Graph, registry = builtinRegistry): GraphIssue[] {
  return found(of, registry).filter((one) => one.severity === 'warning')
}

/** The only error of a graph, which must have this code. */
export function only(of: Graph, code: GraphIssueCode, registry = builtinRegistry): GraphIssue {
  const all = errors(of, registry)
  assert.deepEqual(
    all.map((one) => one.code),
    [code],
    JSON.stringify(all),
  )
  return all[0]!
}
