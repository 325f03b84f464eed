import { useState } from 'preact/hooks'

/** A text that is still there after a reload, until the tab is closed or it is emptied. */
export function useKept(key: string): [text: string, set: (text: string) => void] {
  const name = `gantry.kept.${key}`
  const [text, setText] = useState(() => sessionStorage.getItem(name) ?? '')
  return [
    text,
    next => {
      setText(next)
      if (next) sessionStorage.setItem(name, next)
      else sessionStorage.removeItem(name)
    },
  ]
}
