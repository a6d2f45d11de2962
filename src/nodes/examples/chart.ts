// Examples of nodes that draw charts. The output `image`, the chart itself, is left out.
import type { NodeExamples } from './node-example.ts'

export const chartExamples: NodeExamples = {
  'chart.Bar': {
    data: {
      rows: [
        { shop: 'Harbour', sold: 11 },
        { shop: 'Old Town', sold: 7 },
      ],
      x: 'shop',
      y: 'sold',
      title: 'Books sold',
    },
    outputs: { width: 640, height: 400 },
  },
  'chart.Histogram': {
    data: { rows: [{ age: 23 }, { age: 31 }, { age: 35 }, { age: 38 }, { age: 52 }], x: 'age', bins: 4 },
    outputs: { width: 640, height: 400 },
  },
  'chart.Line': {
    data: {
      rows: [
        { day: '2026-03-01', degrees: 4 },
        { day: '2026-03-02', degrees: 7 },
        { day: '2026-03-03', degrees: 6 },
      ],
      x: 'day',
      y: 'degrees',
      points: true,
    },
    outputs: { width: 640, height: 400 },
  },
  'chart.Pie': {
    data: {
      rows: [
        { kind: 'rent', euro: 900 },
        { kind: 'food', euro: 400 },
        { kind: 'travel', euro: 200 },
      ],
      names: 'kind',
      values: 'euro',
      hole: 0.5,
      width: 400,
    },
    outputs: { width: 400, height: 400 },
  },
  'chart.Scatter': {
    data: {
      rows: [
        { height: 162, weight: 58 },
        { height: 171, weight: 70 },
        { height: 185, weight: 83 },
      ],
      x: 'height',
      y: 'weight',
      scale: 2,
    },
    outputs: { width: 1280, height: 800 },
  },
}
