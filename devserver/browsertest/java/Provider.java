import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.common.collect.ImmutableList;
import com.google.common.collect.ImmutableMap;
import dev.openfeature.contrib.providers.ofrep.OfrepProvider;
import dev.openfeature.contrib.providers.ofrep.OfrepProviderOptions;
import dev.openfeature.sdk.Client;
import dev.openfeature.sdk.EvaluationContext;
import dev.openfeature.sdk.FlagEvaluationDetails;
import dev.openfeature.sdk.ImmutableContext;
import dev.openfeature.sdk.OpenFeatureAPI;
import dev.openfeature.sdk.Value;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The Java SDK with its OFREP provider, asked over standard input: one JSON request a
 * line, one JSON answer a line.
 */
public class Provider {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Client CLIENT = OpenFeatureAPI.getInstance().getClient();

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            JsonNode request = JSON.readTree(line);
            if (request.hasNonNull("options")) {
                connect(request.get("options"));
            }
            EvaluationContext context = context(request.path("context"));
            List<Map<String, Object>> answers = new ArrayList<>();
            for (JsonNode question : request.get("questions")) {
                answers.add(answer(question, context));
            }
            System.out.println(JSON.writeValueAsString(answers));
        }
        OpenFeatureAPI.getInstance().shutdown();
    }

    private static void connect(JsonNode options) throws Exception {
        ImmutableMap.Builder<String, ImmutableList<String>> headers = ImmutableMap.builder();
        options.path("headers").fields().forEachRemaining(
                header -> headers.put(header.getKey(), ImmutableList.of(header.getValue().textValue())));
        OpenFeatureAPI.getInstance().setProviderAndWait(OfrepProvider.constructProvider(
                OfrepProviderOptions.builder().baseUrl(options.get("baseUrl").textValue()).headers(headers.build()).build()));
    }

    private static EvaluationContext context(JsonNode properties) {
        Map<String, Value> attributes = new HashMap<>();
        properties.fields().forEachRemaining(property -> attributes.put(property.getKey(), value(property.getValue())));
        return new ImmutableContext(attributes);
    }

    private static Value value(JsonNode node) {
        return Value.objectToValue(JSON.convertValue(node, Object.class));
    }

    private static Map<String, Object> answer(JsonNode question, EvaluationContext context) {
        String key = question.get("key").textValue();
        JsonNode fallback = question.get("default");
        FlagEvaluationDetails<?> details = switch (question.get("type").textValue()) {
            case "boolean" -> CLIENT.getBooleanDetails(key, fallback.booleanValue(), context);
            case "string" -> CLIENT.getStringDetails(key, fallback.textValue(), context);
            case "integer" -> CLIENT.getIntegerDetails(key, fallback.intValue(), context);
            case "double" -> CLIENT.getDoubleDetails(key, fallback.doubleValue(), context);
            default -> CLIENT.getObjectDetails(key, value(fallback), context);
        };
        Map<String, Object> answer = new HashMap<>();
        answer.put("flagKey", details.getFlagKey());
        answer.put("value", details.getValue() instanceof Value structure ? plain(structure) : details.getValue());
        answer.put("variant", details.getVariant());
        answer.put("reason", details.getReason());
        answer.put("errorCode", details.getErrorCode());
        answer.put("errorMessage", details.getErrorMessage());
        answer.put("flagMetadata", details.getFlagMetadata().asUnmodifiableMap());
        return answer;
    }

    private static Object plain(Value value) {
        if (value.isList()) {
            return value.asList().stream().map(Provider::plain).toList();
        }
        return value.isStructure() ? value.asStructure().asObjectMap() : value.asObject();
    }
}
