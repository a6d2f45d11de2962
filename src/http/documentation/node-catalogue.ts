// The catalogue of node types: one page that lists all, and one page for each.
import type { NodeMetadata } from '../../../generated/types.ts'
import { formatType, type TypeMetadata } from '../../engine/node-api/values/type-metadata.ts'
import { exampleFor } from '../../nodes/examples/catalogue.ts'
import { formatShortJson } from '../../shared/short-json.ts'
import { type Html, html } from './html.ts'
import { renderPage, type SideGroup } from './page-layout.ts'

type NodeProperty = NodeMetadata['properties'][number]

/** The page that lists all node types. Its URL is `/docs/nodes`. */
export function renderNodeCatalogue(nodes: readonly NodeMetadata[]): string {
  const sections = groupByNamespace(nodes).map(
    ([namespace, members]) => html`
<section class="namespace" id="${namespace}"><h2>${namespace}</h2><dl class="node-types">${members.map(
      ({ node_type, title, description }) => html`
<div><dt><a href="nodes/${node_type}">${node_type}</a></dt><dd><strong>${title}.</strong> ${description}</dd></div>`,
    )}</dl></section>`,
  )
  return renderPage({
    title: 'Nodes',
    tab: 'nodes',
    docs: './',
    side: [createNamespaceGroup(nodes, '')],
    content: html`<h1>Nodes</h1>
<p>Workflows are made of these ${nodes.length} node types. <code>svc nodes</code> shows the same in a terminal.</p>${sections}`,
  })
}

/** The page of one node type. Its URL is `/docs/nodes/{node_type}`. */
export function renderNodePage(node: NodeMetadata, nodes: readonly NodeMetadata[]): string {
  return renderPage({
    title: node.node_type,
    tab: 'nodes',
    docs: '../',
    side: [createNeighbourGroup(node, nodes), createNamespaceGroup(nodes, '../nodes')],
    content: html`<h1>${node.node_type}</h1>
<p><strong>${node.title}.</strong> ${node.description}</p>
${renderFacts(node)}
<h2 id="inputs">Properties and inputs</h2>
<p>A node has values for these in its <code>data</code>, or gets them along an edge to the handle of the same name.</p>
${renderProperties(node)}
<h2 id="outputs">Outputs</h2>
${renderOutputs(node)}
${renderExample(node.node_type)}`,
  })
}

function groupByNamespace(nodes: readonly NodeMetadata[]): [string, NodeMetadata[]][] {
  const groups = new Map<string, NodeMetadata[]>()
  for (const node of nodes) groups.set(node.namespace, [...(groups.get(node.namespace) ?? []), node])
  return [...groups]
}

function createNamespaceGroup(nodes: readonly NodeMetadata[], catalogue: string): SideGroup {
  const links = groupByNamespace(nodes).map(([namespace]) => ({
    title: namespace,
    href: `${catalogue}#${namespace}`,
    current: false,
  }))
  return { title: 'Namespaces', links }
}

function createNeighbourGroup({ namespace, node_type }: NodeMetadata, nodes: readonly NodeMetadata[]): SideGroup {
  const links = nodes
    .filter((node) => node.namespace === namespace)
    .map((node) => ({
      title: node.node_type.slice(namespace.length + 1),
      href: node.node_type,
      current: node.node_type === node_type,
    }))
  return { title: namespace, links }
}

function renderFacts(node: NodeMetadata): Html {
  const facts = [
    node.is_streaming_output ? 'At least one output is a stream.' : '',
    node.retry_safe ? '' : 'A firing that was interrupted does not run again by itself.',
    node.required_settings.length > 0 ? `It needs ${node.required_settings.join(', ')}.` : '',
    node.required_runtimes.length > 0 ? `It needs the runtime ${node.required_runtimes.join(', ')}.` : '',
  ].filter((fact) => fact !== '')
  return facts.length === 0 ? html`` : html`<ul>${facts.map((fact) => html`<li>${fact}</li>`)}</ul>`
}

function renderProperties({ properties, supports_dynamic_inputs }: NodeMetadata): Html {
  const dynamic = supports_dynamic_inputs
    ? html`<p>A graph may add inputs: edges and <code>dynamic_properties</code> name them.</p>`
    : html``
  if (properties.length === 0) return supports_dynamic_inputs ? dynamic : html`<p>None.</p>`
  const rows = properties.map(
    (property) => html`
<tr><td><code>${property.name}</code></td><td><code>${formatType(property.type as TypeMetadata)}</code></td><td>${renderDefault(property)}</td><td>${renderMeaning(property)}</td></tr>`,
  )
  return html`<div class="scroll"><table><thead><tr><th>Name</th><th>Type</th><th>Default</th><th>Meaning</th></tr></thead><tbody>${rows}</tbody></table></div>${dynamic}`
}

function renderDefault({ required, default: value }: NodeProperty): Html {
  if (required) return html`<em>required</em>`
  return value === null ? html`none` : html`<code>${JSON.stringify(value)}</code>`
}

function renderMeaning({ title, description, min, max }: NodeProperty): Html {
  const least = min === undefined ? '' : ` At least ${min}.`
  const most = max === undefined ? '' : ` At most ${max}.`
  return html`${description === '' ? `${title}.` : description}${least}${most}`
}

function renderOutputs({ outputs, supports_dynamic_outputs }: NodeMetadata): Html {
  const dynamic = supports_dynamic_outputs
    ? html`<p>A graph may add outputs: <code>dynamic_outputs</code> names them.</p>`
    : html``
  if (outputs.length === 0) return supports_dynamic_outputs ? dynamic : html`<p>None.</p>`
  const rows = outputs.map(
    ({ name, type, stream }) => html`
<tr><td><code>${name}</code></td><td><code>${formatType(type as TypeMetadata)}</code></td><td>${stream ? 'a stream of items' : 'one value'}</td></tr>`,
  )
  return html`<div class="scroll"><table><thead><tr><th>Name</th><th>Type</th><th>Gives</th></tr></thead><tbody>${rows}</tbody></table></div>${dynamic}`
}

/** The characters of a line of JSON, unless one text is longer. */
const JSON_WIDTH = 90

function renderExample(node_type: string): Html {
  const example = exampleFor(node_type)
  if (example === null) return html``
  const { data, inputs, outputs, note } = example
  const node = { id: 'example', type: node_type, data }
  return html`<h2 id="example">Example</h2>
<p>The node in a graph:</p>${renderJson(node)}${inputs ? html`<p>The values that edges bring to its handles:</p>${renderJson(inputs)}` : html``}${
    outputs ? html`<p>The values that it gives:</p>${renderJson(outputs)}` : html``
  }${note ? html`<p>${note}</p>` : html``}`
}

function renderJson(value: unknown): Html {
  return html`<pre><code>${formatShortJson(value, JSON_WIDTH)}</code></pre>`
}
