// Examples of nodes that summarize, join and reshape tables.
import type { NodeExamples } from './node-example.ts'

export const dataTableExamples: NodeExamples = {
  'data.Describe': {
    data: {
      rows: [
        { city: 'Rome', degrees: 10 },
        { city: 'Lima', degrees: 20 },
        { city: 'Cairo', degrees: 30 },
        { city: 'Oslo', degrees: null },
      ],
    },
    outputs: {
      output: [
        {
          column: 'city',
          kind: 'str',
          count: 4,
          missing: 0,
          min: 'Cairo',
          max: 'Rome',
          mean: null,
          median: null,
          deviation: null,
        },
        { column: 'degrees', kind: 'int', count: 3, missing: 1, min: 10, max: 30, mean: 20, median: 20, deviation: 10 },
      ],
      rows: 4,
    },
  },
  'data.Group': {
    data: {
      rows: [
        { shop: 'Harbour', kind: 'map', sold: 8 },
        { shop: 'Harbour', kind: 'novel', sold: 3 },
        { shop: 'Old Town', kind: 'map', sold: 2 },
      ],
      by: ['shop'],
      aggregate: { sold: 'sum' },
    },
    outputs: {
      output: [
        { shop: 'Harbour', count: 2, sold: 11 },
        { shop: 'Old Town', count: 1, sold: 2 },
      ],
    },
  },
  'data.Join': {
    data: {
      left: [
        { order: 1, customer: 7 },
        { order: 2, customer: 9 },
      ],
      right: [{ id: 7, name: 'Ada' }],
      left_on: ['customer'],
      right_on: ['id'],
      how: 'left',
    },
    outputs: {
      output: [
        { customer: 7, order: 1, name: 'Ada' },
        { customer: 9, order: 2, name: null },
      ],
    },
  },
  'data.Pivot': {
    data: {
      rows: [
        { shop: 'Harbour', kind: 'map', sold: 8 },
        { shop: 'Harbour', kind: 'novel', sold: 3 },
        { shop: 'Old Town', kind: 'map', sold: 2 },
      ],
      index: ['shop'],
      columns: 'kind',
      values: 'sold',
      fill: 0,
    },
    outputs: {
      output: [
        { shop: 'Harbour', map: 8, novel: 3 },
        { shop: 'Old Town', map: 2, novel: 0 },
      ],
      columns: ['shop', 'map', 'novel'],
    },
  },
  'data.Query': {
    data: { sql: 'SELECT shop, sum(sold) AS total FROM sales GROUP BY shop ORDER BY total DESC' },
    inputs: {
      sales: [
        { shop: 'Harbour', kind: 'map', sold: 8 },
        { shop: 'Harbour', kind: 'novel', sold: 3 },
        { shop: 'Old Town', kind: 'map', sold: 2 },
      ],
    },
    outputs: {
      rows: [
        { shop: 'Harbour', total: 11 },
        { shop: 'Old Town', total: 2 },
      ],
      columns: ['shop', 'total'],
    },
  },
  'data.Unpivot': {
    data: { rows: [{ shop: 'Harbour', map: 8, novel: 3 }], keep: ['shop'], name_as: 'kind', value_as: 'sold' },
    outputs: {
      output: [
        { shop: 'Harbour', kind: 'map', sold: 8 },
        { shop: 'Harbour', kind: 'novel', sold: 3 },
      ],
    },
  },
}
