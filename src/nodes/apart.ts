// A firing of one node type inside of another one's: apart from the main thread where it would hold that for long.
import { isHeavy } from '../engine/heavy.ts'
import type { Inputs, NodeContext, NodeType, Outputs } from '../engine/node-type.ts'

/** What a pure node type gives for some inputs, as `prepare` gives them where it has one. @throws as its `run`, and `ComputeAccess.run` */
export async function firedApart(
  type: NodeType,
  inputs: Inputs,
  { services, run, signal }: NodeContext,
): Promise<Outputs> {
  const { compute, owner } = services
  if (!compute.takes(type) || !isHeavy(type, inputs)) return (type.run as (inputs: Inputs) => Outputs)(inputs)
  return compute.run({ node_type: type.node_type, inputs, owner, run, signal })
}
