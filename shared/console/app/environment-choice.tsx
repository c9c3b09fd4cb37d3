// The choice of an environment.
import { useEnvironment } from "./evaluation";
import { environments } from "./workspace";

export function EnvironmentChoice({ label = "Environment" }: { label?: string }) {
  const [environment, choose] = useEnvironment();
  return (
    <label class="choice labelled">
      <span>{label}</span>
      <select value={environment} onChange={(event: any) => choose(event.target.value)}>
        {environments.value.map((one) => (
          <option>{one.name}</option>
        ))}
      </select>
    </label>
  );
}
