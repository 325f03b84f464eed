import hljs from 'highlight.js/lib/common'

const BY_NAME: Record<string, string> = {
  dockerfile: 'bash',
  makefile: 'makefile',
  '.bashrc': 'bash',
  '.gitignore': 'ini',
}

/** Of a language's own name, or of a file by its ending. */
function languageOf(name: string): string | undefined {
  const base = name.split('/').at(-1)!.toLowerCase()
  const found = [base, BY_NAME[base], base.split('.').at(-1)].find(word => word && hljs.getLanguage(word))
  return found ?? undefined
}

/** HTML with nothing in it but the text, escaped, and spans of the highlighter; undefined for an unknown language. */
export function highlight(text: string, name: string): string | undefined {
  const language = languageOf(name)
  return language && hljs.highlight(text, { language, ignoreIllegals: true }).value
}
