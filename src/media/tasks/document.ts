// Tasks on documents: which module does which. Each brings a library of its own, which is read when the first such file comes.
import type { Tasks } from '../serving.ts'

export const documentTasks: Tasks = {
  'document.pdfInfo': async (files, params) => (await import('./document-pdf.ts')).pdfInfo(files, params),
  'document.pdfText': async (files, params) => (await import('./document-pdf.ts')).pdfText(files, params),
  'document.pdfPages': async (files, params) => (await import('./document-pdf.ts')).pdfPages(files, params),
  'document.docxText': async (files, params) => (await import('./document-docx.ts')).docxText(files, params),
  'document.readXlsx': async (files, params) => (await import('./document-xlsx-read.ts')).readXlsx(files, params),
  'document.writeXlsx': async (files, params) => (await import('./document-xlsx-write.ts')).writeXlsx(files, params),
}
