import type { Level, Rule } from './rule.ts'

const PUBLISHES: [RegExp, RegExp, Level][] = [
  [/^(npm|pnpm|yarn|bun|lerna)$/, /^(-\S+( [^-\s]\S*)? )*(npm |workspace \S+ )?(publish|unpublish)\b/, 'HIGH'],
  [/^npm$/, /^(deprecate|owner|access|dist-tag (add|rm))\b/, 'HIGH'],
  [/^twine$/, /^upload\b/, 'HIGH'],
  [/^python[\d.]*$/, /-m (twine upload|flit publish|poetry publish)|setup\.py.*\bupload\b/, 'HIGH'],
  [/^(poetry|uv|flit|hatch|pdm|maturin|cargo|vsce|ovsx|changeset|jsr|deno)$/, /^(publish|upload|yank)\b/, 'HIGH'],
  [/^gem$/, /^(push|yank)\b/, 'HIGH'],
  [/^(mvn|mvnw)$/, /\bdeploy\b|release:perform/, 'HIGH'],
  [/^(gradle|gradlew)$/, /\bpublish\w*\b(?!ToMavenLocal)/, 'HIGH'],
  [/^(docker|podman|helm|oras|crane|skopeo|nerdctl)$/, /^(image )?push\b|--push\b|^copy\b/, 'HIGH'],
  [/^dotnet$/, /nuget push/, 'HIGH'],
  [/^(pod)$/, /trunk push/, 'HIGH'],
  [/^(semantic-release|goreleaser|release-it)$/, /^(?!.*(--snapshot|--help|check))/, 'HIGH'],
  [/^gh$/, /^(gist create|repo (delete|archive|edit)|secret (set|delete)|release (create|delete|upload))/, 'HIGH'],
  [/^gh$/, /^api .*(-X|--method)[ =]?DELETE/i, 'HIGH'],
  [/^gh$/, /^(pr (merge|close)|workflow run|api .*(-X|--method)[ =]?(POST|PUT|PATCH))/i, 'MEDIUM'],
  [/^(terraform|tofu|pulumi|cdk|serverless|sls|eksctl)$/, /^(-\S+ )*(destroy|remove|state rm|delete)\b/, 'HIGH'],
  [/^(terraform|tofu|pulumi|cdk|serverless|sls)$/, /^(-\S+ )*(apply|up|deploy)\b/, 'MEDIUM'],
  [/^(kubectl|oc|helm)$/, /^(-\S+ \S+ )*(delete|drain|uninstall)\b/, 'HIGH'],
  [/^(kubectl|oc|helm)$/, /^(-\S+ \S+ )*(apply|create|install|upgrade|scale|patch|replace)\b/, 'MEDIUM'],
  [
    /^(vercel|netlify|fly|flyctl|firebase|wrangler|heroku|gcloud|eb|surge)$/,
    /--prod|\bdeploy\b|\bdestroy\b|\bdelete\b/,
    'MEDIUM',
  ],
  [/^(dropdb|dropuser)$/, /./, 'HIGH'],
  [
    /^(psql|mysql|mariadb|sqlite3|mongo|mongosh|redis-cli|clickhouse-client)$/,
    /\b(drop (database|schema|table)|truncate|dropDatabase|flushall|flushdb)\b|\bdelete from \w+\s*(;|$)/i,
    'HIGH',
  ],
]

const publishing: Rule = {
  id: 'publishing',
  why: 'Publishes, deploys or destroys something that others use',
  judge({ name, args }) {
    const text = args.map(word => word.text).join(' ')
    if (/(^| )--(dry-run|help|version)\b/.test(text)) return 'LOW'
    return PUBLISHES.find(([program, words]) => program.test(name) && words.test(text))?.[2] ?? 'LOW'
  },
}

export const publishRules: Rule[] = [publishing]
